#pragma once

#if defined(ATELIER_DEVICE_cuda)
#include "core/error.h"

#include <dlfcn.h>

#include <string>

namespace atelier {

/** A function of a library that libmlx has loaded (the CUDA driver, cuBLASLt): neither is there to link with. */
template <class Function>
Function* loaded_function(const char* library, const char* name) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  void* found = handle ? dlsym(handle, name) : nullptr;
  if (!found) {
    throw Error(ErrorCode::internal, std::string(library) + " has no " + name);
  }
  return reinterpret_cast<Function*>(found);
}

}  // namespace atelier
#endif
