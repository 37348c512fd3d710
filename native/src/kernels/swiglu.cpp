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

struct Silu {
  ATELIER_INLINE static void forward(vec::F& out, const vec::F& gate, const vec::F& up) {
    vec::F s = gate;
    sigmoid(s);
    out = gate * s * up;
  }
  // d gate = g up (s + gate s (1 - s)), d up = g gate s, with s = sigmoid(gate).
  ATELIER_INLINE static void backward(vec::F& gate, vec::F& up, const vec::F& g) {
    vec::F s = gate;
    sigmoid(s);
    const vec::F silu = gate * s;
    gate = g * up * (s + silu * (1.0f - s));
    up = g * silu;
  }
};

// (1 + tanh(u)) / 2 is sigmoid(2 u): gelu(x) = x sigmoid(a x + b x³).
struct GeluTanh {
  static constexpr float a = 1.5957691216057308f, b = a * 0.044715f;

  ATELIER_INLINE static void forward(vec::F& out, const vec::F& gate, const vec::F& up) {
    vec::F s = gate * (a + b * gate * gate);
    sigmoid(s);
    out = gate * s * up;
  }
  // d gate = g up (s + gate s (1 - s) (a + 3 b gate²)), d up = g gate s.
  ATELIER_INLINE static void backward(vec::F& gate, vec::F& up, const vec::F& g) {
    const vec::F squared = gate * gate;
    vec::F s = gate * (a + b * squared);
    sigmoid(s);
    const vec::F gelu = gate * s;
    gate = g * up * (s + gelu * (1.0f - s) * (a + 3.0f * b * squared));
    up = g * gelu;
  }
};

template <class Activation>
ATELIER_INLINE void forward_rows(const float* x, float* y, int rows, int F) {
  for (int n = 0; n < rows; n++, x += 2 * F, y += F) {
    vec::F gate, up, out;
    int i = 0;
    for (; i + vec::lanes <= F; i += vec::lanes) {
      vec::load(gate, x + i);
      vec::load(up, x + F + i);
      Activation::forward(out, gate, up);
      vec::store(y + i, out);
    }
    if (i < F) {
      vec::load_part(gate, x + i, F - i, 0);
      vec::load_part(up, x + F + i, F - i, 0);
      Activation::forward(out, gate, up);
      vec::store_part(y + i, out, F - i);
    }
  }
}

template <class Activation>
ATELIER_INLINE void backward_rows(const float* x, const float* g, float* dx, int rows, int F) {
  for (int n = 0; n < rows; n++, x += 2 * F, dx += 2 * F, g += F) {
    vec::F gate, up, at;
    int i = 0;
    for (; i + vec::lanes <= F; i += vec::lanes) {
      vec::load(gate, x + i);
      vec::load(up, x + F + i);
      vec::load(at, g + i);
      Activation::backward(gate, up, at);
      vec::store(dx + i, gate);
      vec::store(dx + F + i, up);
    }
    if (i < F) {
      vec::load_part(gate, x + i, F - i, 0);
      vec::load_part(up, x + F + i, F - i, 0);
      vec::load_part(at, g + i, F - i, 0);
      Activation::backward(gate, up, at);
      vec::store_part(dx + i, gate, F - i);
      vec::store_part(dx + F + i, up, F - i);
    }
  }
}

// Clones are of plain functions.
ATELIER_CLONES void forward(bool gelu, const float* x, float* y, int rows, int F) {
  gelu ? forward_rows<GeluTanh>(x, y, rows, F) : forward_rows<Silu>(x, y, rows, F);
}

ATELIER_CLONES void
backward(bool gelu, const float* x, const float* g, float* dx, int rows, int F) {
  gelu ? backward_rows<GeluTanh>(x, g, dx, rows, F) : backward_rows<Silu>(x, g, dx, rows, F);
}

mx::array gated_cpu(const char* name, const char* vjp_name, bool gelu, const mx::array& gate_up) {
  mx::Shape shape = gate_up.shape();
  shape.back() /= 2;
  CpuKernel kernel{name, nullptr, nullptr};
  kernel.run = [gelu](const Arrays& in, Arrays& out) {
    const int F = out[0].shape(-1), N = static_cast<int>(out[0].size() / F);
    const float* x = in[0].data<float>();
    float* y = out[0].data<float>();
    parallel_for(N, grain(F), [&](int from, int to) {
      forward(gelu, x + int64_t{from} * 2 * F, y + int64_t{from} * F, to - from, F);
    });
  };
  kernel.vjp =
      [gelu, vjp_name](
          const Arrays& in, const Arrays& cotangents, const Arrays&, const std::vector<int>&) {
        CpuKernel grad{vjp_name, nullptr, nullptr};
        grad.run = [gelu](const Arrays& in, Arrays& out) {
          const int F = in[1].shape(-1), N = static_cast<int>(in[1].size() / F);
          const float *x = in[0].data<float>(), *g = in[1].data<float>();
          float* dx = out[0].data<float>();
          parallel_for(N, grain(F), [&](int from, int to) {
            const int64_t at = int64_t{from} * F;
            backward(gelu, x + 2 * at, g + at, dx + 2 * at, to - from, F);
          });
        };
        return apply(grad, {in[0], mx::contiguous(cotangents[0])}, {in[0].shape()});
      };
  return apply(kernel, {mx::contiguous(gate_up)}, {shape})[0];
}

}  // namespace

mx::array swiglu_plain(const mx::array& gate_up) {
  const std::vector<mx::array> part = mx::split(gate_up, 2, -1);
  return part[0] * mx::sigmoid(part[0]) * part[1];
}

mx::array swiglu_cpu(const mx::array& gate_up) {
  return gated_cpu("SwigluCpu", "SwigluCpuVjp", false, gate_up);
}

mx::array geglu_plain(const mx::array& gate_up) {
  const std::vector<mx::array> part = mx::split(gate_up, 2, -1);
  const mx::array x = mx::astype(part[0], mx::float32);
  const mx::array u = x * (mx::array(GeluTanh::a) + mx::array(GeluTanh::b) * mx::square(x));
  return mx::astype(x * mx::sigmoid(u), gate_up.dtype()) * part[1];
}

mx::array geglu_cpu(const mx::array& gate_up) {
  return gated_cpu("GegluCpu", "GegluCpuVjp", true, gate_up);
}

}  // namespace atelier
