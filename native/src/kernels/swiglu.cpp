// Shapes: N rows, F features.
#include "kernels/swiglu.h"

#include "kernels/parallel.h"
#include "kernels/vec.h"

#include <algorithm>

namespace atelier {
namespace {

int grain(int F) {
  return std::max(1, 8192 / F);
}

ATELIER_INLINE void sigmoid(vec::F& x) {
  x = -x;
  vec::exp(x);
  x = 1.0f / (1.0f + x);
}

ATELIER_INLINE void forward_lanes(vec::F& out, const vec::F& gate, const vec::F& up) {
  vec::F s = gate;
  sigmoid(s);
  out = gate * s * up;
}

ATELIER_CLONES void forward(const float* x, float* y, int rows, int F) {
  for (int n = 0; n < rows; n++, x += 2 * F, y += F) {
    vec::F gate, up, out;
    int i = 0;
    for (; i + vec::lanes <= F; i += vec::lanes) {
      vec::load(gate, x + i);
      vec::load(up, x + F + i);
      forward_lanes(out, gate, up);
      vec::store(y + i, out);
    }
    if (i < F) {
      vec::load_part(gate, x + i, F - i, 0);
      vec::load_part(up, x + F + i, F - i, 0);
      forward_lanes(out, gate, up);
      vec::store_part(y + i, out, F - i);
    }
  }
}

// d gate = g up (s + gate s (1 - s)), d up = g gate s, with s = sigmoid(gate).
ATELIER_INLINE void backward_lanes(vec::F& gate, vec::F& up, const vec::F& g) {
  vec::F s = gate;
  sigmoid(s);
  const vec::F silu = gate * s;
  gate = g * up * (s + silu * (1.0f - s));
  up = g * silu;
}

ATELIER_CLONES void backward(const float* x, const float* g, float* dx, int rows, int F) {
  for (int n = 0; n < rows; n++, x += 2 * F, dx += 2 * F, g += F) {
    vec::F gate, up, at;
    int i = 0;
    for (; i + vec::lanes <= F; i += vec::lanes) {
      vec::load(gate, x + i);
      vec::load(up, x + F + i);
      vec::load(at, g + i);
      backward_lanes(gate, up, at);
      vec::store(dx + i, gate);
      vec::store(dx + F + i, up);
    }
    if (i < F) {
      vec::load_part(gate, x + i, F - i, 0);
      vec::load_part(up, x + F + i, F - i, 0);
      vec::load_part(at, g + i, F - i, 0);
      backward_lanes(gate, up, at);
      vec::store_part(dx + i, gate, F - i);
      vec::store_part(dx + F + i, up, F - i);
    }
  }
}

}  // namespace

mx::array swiglu_plain(const mx::array& gate_up) {
  const std::vector<mx::array> part = mx::split(gate_up, 2, -1);
  return part[0] * mx::sigmoid(part[0]) * part[1];
}

mx::array swiglu_cpu(const mx::array& gate_up) {
  mx::Shape shape = gate_up.shape();
  shape.back() /= 2;
  CpuKernel kernel{"SwigluCpu", nullptr, nullptr};
  kernel.run = [](const Arrays& in, Arrays& out) {
    const int F = out[0].shape(-1), N = static_cast<int>(out[0].size() / F);
    const float* x = in[0].data<float>();
    float* y = out[0].data<float>();
    parallel_for(N, grain(F), [&](int from, int to) {
      forward(x + int64_t{from} * 2 * F, y + int64_t{from} * F, to - from, F);
    });
  };
  kernel.vjp =
      [](const Arrays& in, const Arrays& cotangents, const Arrays&, const std::vector<int>&) {
        CpuKernel grad{"SwigluCpuVjp", nullptr, nullptr};
        grad.run = [](const Arrays& in, Arrays& out) {
          const int F = in[1].shape(-1), N = static_cast<int>(in[1].size() / F);
          const float *x = in[0].data<float>(), *g = in[1].data<float>();
          float* dx = out[0].data<float>();
          parallel_for(N, grain(F), [&](int from, int to) {
            const int64_t at = int64_t{from} * F;
            backward(x + 2 * at, g + at, dx + 2 * at, to - from, F);
          });
        };
        return apply(grad, {in[0], mx::contiguous(cotangents[0])}, {in[0].shape()});
      };
  return apply(kernel, {mx::contiguous(gate_up)}, {shape})[0];
}

}  // namespace atelier
