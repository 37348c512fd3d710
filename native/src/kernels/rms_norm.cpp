// Shapes: N rows, D the normalised axis.
#include "kernels/rms_norm.h"

#include "kernels/parallel.h"

#include <algorithm>
#include <cmath>
#include <optional>

#define ATELIER_LOOPS "kernels/loops/rms_norm.h"
#include "kernels/loops/processors.h"

namespace atelier {
namespace {

// Rows of one piece: enough work to be worth a thread.
int grain(int D) {
  return std::max(1, 32768 / D);
}

void run_forward(const mx::array& x, const mx::array& w, mx::array& y, float eps) {
  const int D = x.shape(-1), N = static_cast<int>(x.size() / D);
  const float *from_x = x.data<float>(), *from_w = w.data<float>();
  float* to_y = y.data<float>();
  parallel_for(N, grain(D), [&](int from, int to) {
    const int64_t at = int64_t{from} * D;
    ATELIER_LOOP(forward)(from_x + at, from_w, to_y + at, to - from, D, eps);
  });
}

// in: x, w, the gradient by what is normed, and one that is added to the gradient by x.
Arrays gradients(
    const Arrays& in,
    const mx::array& g,
    const std::optional<mx::array>& onto,
    const std::vector<int>& wanted,
    float eps) {
  const bool weight = std::find(wanted.begin(), wanted.end(), 1) != wanted.end();
  CpuKernel grad{"RmsNormCpuVjp", nullptr, nullptr};
  grad.run = [eps, weight](const Arrays& in, Arrays& out) {
    const int D = in[0].shape(-1), N = static_cast<int>(in[0].size() / D);
    const float *x = in[0].data<float>(), *w = in[1].data<float>(), *g = in[2].data<float>();
    const float* onto = in.size() > 3 ? in[3].data<float>() : nullptr;
    float *dx = out[0].data<float>(), *dw = out[1].data<float>();
    const int step = grain(D);
    std::vector<float> parts(weight ? size_t((N + step - 1) / step) * D : 0);
    parallel_for(N, step, [&](int from, int to) {
      const int64_t at = int64_t{from} * D;
      ATELIER_LOOP(backward)(
          x + at,
          w,
          g + at,
          onto ? onto + at : nullptr,
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
  Arrays inputs{in[0], in[1], mx::contiguous(g)};
  if (onto) {
    inputs.push_back(mx::contiguous(*onto));
  }
  return apply(grad, inputs, {in[0].shape(), in[1].shape()});
}

}  // namespace

mx::array rms_norm_plain(const mx::array& x, const mx::array& w, float eps) {
  return mx::fast::rms_norm(x, w, eps);
}

mx::array rms_norm_cpu(const mx::array& x, const mx::array& w, float eps) {
  CpuKernel kernel{"RmsNormCpu", nullptr, nullptr};
  kernel.run = [eps](const Arrays& in, Arrays& out) { run_forward(in[0], in[1], out[0], eps); };
  kernel.vjp =
      [eps](const Arrays& in, const Arrays& g, const Arrays&, const std::vector<int>& wanted) {
        return gradients(in, g[0], std::nullopt, wanted, eps);
      };
  return apply(kernel, {mx::contiguous(x), mx::contiguous(w)}, {x.shape()})[0];
}

NormBranch rms_norm_branch_cpu(const mx::array& x, const mx::array& w, float eps) {
  CpuKernel kernel{"RmsNormBranchCpu", nullptr, nullptr};
  kernel.run = [eps](const Arrays& in, Arrays& out) { run_forward(in[0], in[1], out[1], eps); };
  kernel.vjp =
      [eps](const Arrays& in, const Arrays& g, const Arrays&, const std::vector<int>& wanted) {
        return gradients(in, g[1], g[0], wanted, eps);
      };
  kernel.shares = {0};
  const Arrays out = apply(kernel, {mx::contiguous(x), mx::contiguous(w)}, {x.shape(), x.shape()});
  return {out[0], out[1]};
}

}  // namespace atelier
