// Shapes: N rows, D the normalised axis.
#include "kernels/rms_norm.h"

#include "kernels/parallel.h"

#include <algorithm>
#include <cmath>

#define ATELIER_LOOPS "kernels/loops/rms_norm.h"
#include "kernels/loops/processors.h"

namespace atelier {
namespace {

// Rows of one piece: enough work to be worth a thread.
int grain(int D) {
  return std::max(1, 32768 / D);
}

}  // namespace

mx::array rms_norm_plain(const mx::array& x, const mx::array& w, float eps) {
  return mx::fast::rms_norm(x, w, eps);
}

mx::array rms_norm_cpu(const mx::array& x, const mx::array& w, float eps) {
  CpuKernel kernel{"RmsNormCpu", nullptr, nullptr};
  kernel.run = [eps](const Arrays& in, Arrays& out) {
    const int D = in[0].shape(-1), N = static_cast<int>(in[0].size() / D);
    const float *x = in[0].data<float>(), *w = in[1].data<float>();
    float* y = out[0].data<float>();
    parallel_for(N, grain(D), [&](int from, int to) {
      ATELIER_LOOP(forward)(x + int64_t{from} * D, w, y + int64_t{from} * D, to - from, D, eps);
    });
  };
  kernel.vjp = [eps](
                   const Arrays& in,
                   const Arrays& cotangents,
                   const Arrays&,
                   const std::vector<int>& wanted) {
    const bool weight = std::find(wanted.begin(), wanted.end(), 1) != wanted.end();
    CpuKernel grad{"RmsNormCpuVjp", nullptr, nullptr};
    grad.run = [eps, weight](const Arrays& in, Arrays& out) {
      const int D = in[0].shape(-1), N = static_cast<int>(in[0].size() / D);
      const float *x = in[0].data<float>(), *w = in[1].data<float>(), *g = in[2].data<float>();
      float *dx = out[0].data<float>(), *dw = out[1].data<float>();
      const int step = grain(D);
      std::vector<float> parts(weight ? size_t((N + step - 1) / step) * D : 0);
      parallel_for(N, step, [&](int from, int to) {
        const int64_t at = int64_t{from} * D;
        ATELIER_LOOP(backward)(
            x + at,
            w,
            g + at,
            dx + at,
            weight ? &parts[size_t(from / step) * D] : nullptr,
            to - from,
            D,
            eps);
      });
      std::fill(dw, dw + D, 0.0f);
      for (size_t i = 0; i < parts.size(); i++) {
        dw[i % D] += parts[i];
      }
    };
    return apply(
        grad, {in[0], in[1], mx::contiguous(cotangents[0])}, {in[0].shape(), in[1].shape()});
  };
  return apply(kernel, {mx::contiguous(x), mx::contiguous(w)}, {x.shape()})[0];
}

}  // namespace atelier
