// Shapes: B batch, L length, C channels, W width of the convolution.
#include "kernels/short_conv.h"

#include "kernels/parallel.h"

#include <algorithm>

#define ATELIER_LOOPS "kernels/loops/short_conv.h"
#include "kernels/loops/processors.h"

namespace atelier {
namespace {

// Numbers between two rows of x, and of w turned so that channels lie side by side.
struct Sizes {
  int B, L, C, W;

  Sizes(const mx::array& x, const mx::array& w)
      : B(x.shape(0)), L(x.shape(1) - w.shape(0) + 1), C(x.shape(2)), W(w.shape(0)) {}

  int grain() const {
    return std::max(1, 8192 / C);
  }
  int64_t input(int n) const {
    return (int64_t{n / L} * (L + W - 1) + n % L) * C;
  }
};

// One row: dx [L + W - 1, C] and its part of dw [W, C].
void backward_row(
    const float* x,
    const float* w,
    const float* g,
    float* dx,
    float* dw,
    const Sizes& z) {
  std::vector<float> u(z.C);
  std::fill(dx, dx + int64_t{z.L + z.W - 1} * z.C, 0.0f);
  for (int l = 0; l < z.L; l++, x += z.C, dx += z.C, g += z.C) {
    ATELIER_LOOP(through_silu)(x, w, g, u.data(), z.C, z.W);
    for (int j = 0; j < z.W; j++) {
      ATELIER_LOOP(add_product)(dx + j * z.C, u.data(), w + j * z.C, z.C);
      ATELIER_LOOP(add_product)(dw + j * z.C, u.data(), x + j * z.C, z.C);
    }
  }
}

Arrays backward(const Arrays& in, const mx::array& g) {
  CpuKernel kernel{"ShortConvCpuVjp", nullptr, nullptr};
  kernel.run = [](const Arrays& in, Arrays& out) {
    const Sizes z(in[0], in[1]);
    const float *x = in[0].data<float>(), *w = in[1].data<float>(), *g = in[2].data<float>();
    float *dx = out[0].data<float>(), *dw = out[1].data<float>();
    const int64_t row = int64_t{z.L + z.W - 1} * z.C, weights = int64_t{z.W} * z.C;
    std::vector<float> parts(z.B * weights);
    parallel_for(z.B, 1, [&](int from, int to) {
      for (int64_t b = from; b < to; b++) {
        backward_row(
            x + b * row, w, g + b * z.L * z.C, dx + b * row, parts.data() + b * weights, z);
      }
    });
    std::fill(dw, dw + weights, 0.0f);
    for (size_t i = 0; i < parts.size(); i++) {
      dw[i % weights] += parts[i];
    }
  };
  return apply(kernel, {in[0], in[1], mx::contiguous(g)}, {in[0].shape(), in[1].shape()});
}

// w [W, C]
mx::array convolved(const mx::array& x, const mx::array& w) {
  CpuKernel kernel{"ShortConvCpu", nullptr, nullptr};
  kernel.run = [](const Arrays& in, Arrays& out) {
    const Sizes z(in[0], in[1]);
    const float *x = in[0].data<float>(), *w = in[1].data<float>();
    float* y = out[0].data<float>();
    parallel_for(z.B * z.L, z.grain(), [&](int from, int to) {
      for (int n = from; n < to; n++) {
        ATELIER_LOOP(forward)(x + z.input(n), w, y + int64_t{n} * z.C, z.C, z.W);
      }
    });
  };
  kernel.vjp = [](const Arrays& in, const Arrays& g, const Arrays&, const std::vector<int>&) {
    return backward(in, g[0]);
  };
  return apply(
      kernel, {mx::contiguous(x), w}, {{x.shape(0), x.shape(1) - w.shape(0) + 1, x.shape(2)}})[0];
}

}  // namespace

mx::array short_conv_plain(const mx::array& x, const mx::array& w) {
  const int B = x.shape(0), C = x.shape(2), W = w.shape(1), L = x.shape(1) - W + 1;
  mx::array sum = mx::zeros({1}, x.dtype());
  for (int j = 0; j < W; j++) {
    const mx::array now = mx::slice(x, {0, j, 0}, {B, j + L, C});
    sum = sum + now * mx::squeeze(mx::slice(w, {0, j}, {C, j + 1}), 1);
  }
  return sum * mx::sigmoid(sum);
}

mx::array short_conv_cpu(const mx::array& x, const mx::array& w) {
  return convolved(x, mx::contiguous(mx::transpose(w)));
}

}  // namespace atelier
