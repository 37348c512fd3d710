#include "kernels/blas.h"

#include <dlfcn.h>

namespace atelier {

bool has_blas() {
#if defined(__linux__)
  // It comes with libmlx, behind its BLAS (native/openblas).
  static const bool there = [] {
    const auto set_threads =
        reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "scipy_openblas_set_num_threads"));
    if (set_threads) {
      set_threads(1);
    }
    return set_threads != nullptr;
  }();
  return there;
#else
  return false;
#endif
}

}  // namespace atelier
