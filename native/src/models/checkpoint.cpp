#include "models/checkpoint.h"

#include "core/error.h"

#include <filesystem>

namespace atelier {

Params Checkpoint::read_quantised(const std::string& module, mx::Dtype) const {
  throw Error(ErrorCode::internal, module + " is not quantised");
}

std::unique_ptr<Checkpoint> open_checkpoint(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    throw Error(ErrorCode::io, "no such file or folder: " + path);
  }
  return std::filesystem::is_directory(path) ? open_folder(path) : open_gguf(path);
}

}  // namespace atelier
