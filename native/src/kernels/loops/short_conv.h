// Shapes: B batch, L length, C channels, W width of the convolution.

ATELIER_INLINE void convolve(vec::F& sum, const float* x, const float* w, int C, int W, int count) {
  vec::F a, b;
  sum = vec::F{};
  for (int j = 0; j < W; j++, x += C, w += C) {
    vec::load_part(a, x, count, 0);
    vec::load_part(b, w, count, 0);
    sum += a * b;
  }
}

ATELIER_INLINE void sigmoid(vec::F& x) {
  x = -x;
  vec::exp(x);
  x = 1.0f / (1.0f + x);
}

inline void forward(const float* x, const float* w, float* y, int C, int W) {
  for (int c = 0; c < C; c += vec::lanes) {
    const int count = std::min(vec::lanes, C - c);
    vec::F sum, s;
    convolve(sum, x + c, w + c, C, W, count);
    s = sum;
    sigmoid(s);
    vec::store_part(y + c, sum * s, count);
  }
}

// u = dL / d(the convolution's sum): g (s + sum s (1 - s)), s = sigmoid(sum).
inline void through_silu(const float* x, const float* w, const float* g, float* u, int C, int W) {
  for (int c = 0; c < C; c += vec::lanes) {
    const int count = std::min(vec::lanes, C - c);
    vec::F sum, s, at;
    convolve(sum, x + c, w + c, C, W, count);
    s = sum;
    sigmoid(s);
    vec::load_part(at, g + c, count, 0);
    vec::store_part(u + c, at * s * (1.0f + sum * (1.0f - s)), count);
  }
}

inline void add_product(float* to, const float* a, const float* b, int count) {
  for (int i = 0; i < count; i++) {
    to[i] += a[i] * b[i];
  }
}
