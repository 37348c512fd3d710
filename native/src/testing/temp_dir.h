#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace atelier::testing {

/** A folder that lasts as long as the object. */
class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "atelier-XXXXXX").string();
    if (!mkdtemp(pattern.data())) {
      throw std::runtime_error("no temporary folder");
    }
    path_ = pattern;
  }
  ~TempDir() {
    std::filesystem::remove_all(path_);
  }
  std::string path(const std::string& name = "") const {
    return name.empty() ? path_ : path_ + "/" + name;
  }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::string path_;
};

inline std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace atelier::testing
