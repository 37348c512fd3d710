// Shapes: N rows, D the normalised axis.
#include "kernels/rms_norm.h"

#include "kernels/parallel.h"
#include "kernels/vec.h"

#include <algorithm>
#include <cmath>

namespace atelier {
namespace {

// Rows of one piece: enough work to be worth a thread.
int grain(int D) {
  return std::max(1, 32768 / D);
}

// 1 / rms in double: its rounding would move the whole row at once, and one large activation makes up most of it.
ATELIER_INLINE double inverse_rms(const float* x, int D, float eps) {
  vec::D first{}, second{}, d;
  vec::F a;
  int i = 0;
  for (; i + vec::lanes <= D; i += vec::lanes) {
    vec::load(a, x + i);
    vec::wide(d, a, 0);
    first += d * d;
    vec::wide(d, a, 1);
    second += d * d;
  }
  double squares = vec::sum(first) + vec::sum(second);
  for (; i < D; i++) {
    squares += static_cast<double>(x[i]) * x[i];
  }
  return 1.0 / std::sqrt(squares / D + eps);
}

ATELIER_CLONES void forward(const float* x, const float* w, float* y, int rows, int D, float eps) {
  for (int n = 0; n < rows; n++, x += D, y += D) {
    const double r = inverse_rms(x, D, eps);
    for (int i = 0; i < D; i++) {
      y[i] = static_cast<float>(x[i] * r * w[i]);
    }
  }
}

// dx = r (g w - x r² mean(g w x)); dw gains sum over rows of g x r.
ATELIER_CLONES void backward(
    const float* x,
    const float* w,
    const float* g,
    float* dx,
    float* dw,
    int rows,
    int D,
    float eps) {
  for (int n = 0; n < rows; n++, x += D, g += D, dx += D) {
    vec::F along{}, a, b, c;
    int i = 0;
    for (; i + vec::lanes <= D; i += vec::lanes) {
      vec::load(a, x + i);
      vec::load(b, g + i);
      vec::load(c, w + i);
      along += a * b * c;
    }
    float dot = vec::sum(along);
    for (; i < D; i++) {
      dot += x[i] * g[i] * w[i];
    }
    const float r = static_cast<float>(inverse_rms(x, D, eps));
    const float k = r * r * dot / D;
    for (i = 0; i + vec::lanes <= D; i += vec::lanes) {
      vec::load(a, x + i);
      vec::load(b, g + i);
      vec::load(c, w + i);
      vec::store(dx + i, (b * c - a * k) * r);
      if (dw) {
        vec::load(c, dw + i);
        vec::store(dw + i, c + b * a * r);
      }
    }
    for (; i < D; i++) {
      dx[i] = (g[i] * w[i] - x[i] * k) * r;
      if (dw) {
        dw[i] += g[i] * x[i] * r;
      }
    }
  }
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
      forward(x + int64_t{from} * D, w, y + int64_t{from} * D, to - from, D, eps);
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
        backward(
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
