#include "kernels/blas.h"

#include <dlfcn.h>
#include <algorithm>
#include <cstdint>

namespace atelier {
namespace {

template <class T>
using Gemm = void (*)(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);

struct Blas {
  Gemm<float> gemm = nullptr;
  Gemm<double> dgemm = nullptr;

  Blas() {
#if defined(__linux__)
    // Both come with libmlx: its BLAS, and OpenBLAS behind that (native/openblas).
    gemm = reinterpret_cast<Gemm<float>>(dlsym(RTLD_DEFAULT, "cblas_sgemm"));
    dgemm = reinterpret_cast<Gemm<double>>(dlsym(RTLD_DEFAULT, "cblas_dgemm"));
    const auto set_threads =
        reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "scipy_openblas_set_num_threads"));
    if (set_threads && gemm && dgemm) {
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

void sgemm_in_parts(int m, int n, int k, int depth, Matrix a, Matrix b, float* c, int step_c) {
  const int parts = depth ? std::max(1, (k + depth - 1) / depth) : 1;
  const int step = parts == 1 ? k : ((k + parts - 1) / parts + 15) / 16 * 16;
  const int64_t along_a = a.transposed ? a.step : 1, along_b = b.transposed ? 1 : b.step;
  int from = 0;
  do {
    sgemm(
        m,
        n,
        std::min(step, k - from),
        1,
        {a.data + from * along_a, a.step, a.transposed},
        {b.data + from * along_b, b.step, b.transposed},
        c,
        step_c,
        from > 0);
    from += step;
  } while (from < k);
}

void dgemm_nt(int m, int n, int k, const double* a, const double* b, double* c) {
  blas().dgemm(row_major, plain, transposed, m, n, k, 1.0, a, k, b, k, 0.0, c, n);
}

}  // namespace atelier
