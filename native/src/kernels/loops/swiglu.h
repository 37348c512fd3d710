// Shapes: N rows, F features.

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

inline void forward(bool gelu, const float* x, float* y, int rows, int F) {
  gelu ? forward_rows<GeluTanh>(x, y, rows, F) : forward_rows<Silu>(x, y, rows, F);
}

inline void backward(bool gelu, const float* x, const float* g, float* dx, int rows, int F) {
  gelu ? backward_rows<GeluTanh>(x, g, dx, rows, F) : backward_rows<Silu>(x, g, dx, rows, F);
}
