#include "kernels/blas.h"

#include <dlfcn.h>

namespace atelier {
namespace {

using Gemm = void (*)(
    int,
    int,
    int,
    int,
    int,
    int,
    float,
    const float*,
    int,
    const float*,
    int,
    float,
    float*,
    int);

struct Blas {
  Gemm gemm = nullptr;

  Blas() {
#if defined(__linux__)
    // Both come with libmlx: its BLAS, and OpenBLAS behind that (native/openblas).
    gemm = reinterpret_cast<Gemm>(dlsym(RTLD_DEFAULT, "cblas_sgemm"));
    const auto set_threads =
        reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "scipy_openblas_set_num_threads"));
    if (set_threads) {
      set_threads(1);
    } else {
      gemm = nullptr;
    }
#endif
  }
};

const Blas& blas() {
  static const Blas loaded;
  return loaded;
}

constexpr int row_major = 101, plain = 111, transposed = 112;

}  // namespace

bool has_blas() {
  return blas().gemm != nullptr;
}

void sgemm(int m, int n, int k, float alpha, Matrix a, Matrix b, float* c, int step_c, bool add) {
  blas().gemm(
      row_major,
      a.transposed ? transposed : plain,
      b.transposed ? transposed : plain,
      m,
      n,
      k,
      alpha,
      a.data,
      a.step,
      b.data,
      b.step,
      add ? 1.0f : 0.0f,
      c,
      step_c);
}

}  // namespace atelier
