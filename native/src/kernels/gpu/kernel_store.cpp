#include "kernels/gpu/kernel_store.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace atelier {
namespace {

// FNV-1a.
uint64_t hash(const std::string& text) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (const unsigned char c : text) {
    h = (h ^ c) * 0x100000001b3ull;
  }
  return h;
}

// What a file begins with: all that it was made of, so that another source of the same hash is not taken for it.
std::string head(const std::string& compiler, const std::string& source, const std::string& made) {
  return compiler + '\n' + std::to_string(source.size()) + ' ' + std::to_string(made.size()) + ' ' +
         std::to_string(hash(made)) + '\n' + source;
}

}  // namespace

std::string KernelStore::path(const std::string& compiler, const std::string& source) const {
  std::ostringstream name;
  name << std::hex << hash(compiler + '\n' + source) << ".kernel";
  return (std::filesystem::path(folder_) / name.str()).string();
}

std::optional<std::string> KernelStore::find(const std::string& compiler, const std::string& source)
    const {
  std::ifstream file(path(compiler, source), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const size_t before = all.find(source, compiler.size());
  if (!file || before == std::string::npos) {
    return std::nullopt;
  }
  std::string made = all.substr(before + source.size());
  return head(compiler, source, made) + made == all ? std::optional(std::move(made)) : std::nullopt;
}

void KernelStore::keep(
    const std::string& compiler,
    const std::string& source,
    const std::string& made) const {
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  const std::string to = path(compiler, source), beside = to + '.' + std::to_string(getpid());
  {
    std::ofstream file(beside, std::ios::binary);
    file << head(compiler, source, made) << made;
    file.close();
    failed = file ? std::error_code() : std::make_error_code(std::errc::io_error);
  }
  if (!failed) {
    std::filesystem::rename(beside, to, failed);
  }
  if (failed) {
    std::filesystem::remove(beside, failed);
  }
}

}  // namespace atelier
