#pragma once

#include <optional>
#include <string>

namespace atelier {

/**
 * Compiled kernels as files of a folder, a file each, so that a start compiles nothing that an earlier one has. A file
 * that is damaged or cut short counts as none.
 */
class KernelStore {
 public:
  explicit KernelStore(std::string folder) : folder_(std::move(folder)) {}

  /** What `compiler` (its name, version and options) once made of this source. */
  std::optional<std::string> find(const std::string& compiler, const std::string& source) const;
  /** A folder that cannot be written is no error: the next start compiles again. */
  void keep(const std::string& compiler, const std::string& source, const std::string& made) const;

 private:
  std::string path(const std::string& compiler, const std::string& source) const;

  std::string folder_;
};

}  // namespace atelier
