// Shapes: N rows, D the normalised axis.

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

inline void forward(const float* x, const float* w, float* y, int rows, int D, float eps) {
  for (int n = 0; n < rows; n++, x += D, y += D) {
    const double r = inverse_rms(x, D, eps);
    for (int i = 0; i < D; i++) {
      y[i] = static_cast<float>(x[i] * r * w[i]);
    }
  }
}

// dx = onto + r (g w - x r² mean(g w x)), `onto` null: 0; dw gains sum over rows of g x r.
inline void backward(
    const float* x,
    const float* w,
    const float* g,
    const float* onto,
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
      vec::F d = (b * c - a * k) * r;
      if (onto) {
        vec::F more;
        vec::load(more, onto + i);
        d += more;
      }
      vec::store(dx + i, d);
      if (dw) {
        vec::load(c, dw + i);
        vec::store(dw + i, c + b * a * r);
      }
    }
    for (; i < D; i++) {
      dx[i] = (g[i] * w[i] - x[i] * k) * r + (onto ? onto[i] : 0.0f);
      if (dw) {
        dw[i] += g[i] * x[i] * r;
      }
    }
    onto = onto ? onto + D : nullptr;
  }
}
