// Shapes: B batch, L length, H query heads, K key heads, E head, R of it rotated.

ATELIER_INLINE float inverse_rms(const float* x, int E, float eps) {
  double squares = 0;
  for (int i = 0; i < E; i++) {
    squares += static_cast<double>(x[i]) * x[i];
  }
  return static_cast<float>(1.0 / std::sqrt(squares / E + eps));
}

// One head's E numbers. R is even, E small: plain loops over it are vectorised well enough.
inline void forward_head(
    const float* x,
    const float* w,
    const float* c,
    const float* s,
    float* y,
    int E,
    int R,
    float eps) {
  const float scale = w ? inverse_rms(x, E, eps) : 1;
  const int half = R / 2;
  for (int i = 0; i < half; i++) {
    const float a = w ? x[i] * scale * w[i] : x[i],
                b = w ? x[i + half] * scale * w[i + half] : x[i + half];
    y[i] = a * c[i] + b * s[i];
    y[i + half] = b * c[i + half] + a * s[i + half];
  }
  for (int i = R; i < E; i++) {
    y[i] = w ? x[i] * scale * w[i] : x[i];
  }
}

// The rotation's transpose, then the norm's backward. dw gains this head's part.
inline void backward_head(
    const float* x,
    const float* w,
    const float* c,
    const float* s,
    const float* g,
    float* dx,
    float* dw,
    int E,
    int R,
    float eps) {
  const int half = R / 2;
  for (int i = 0; i < half; i++) {
    dx[i] = g[i] * c[i] + g[i + half] * s[i + half];
    dx[i + half] = g[i + half] * c[i + half] + g[i] * s[i];
  }
  std::copy(g + R, g + E, dx + R);
  if (!w) {
    return;
  }
  float dot = 0;
  for (int i = 0; i < E; i++) {
    dot += x[i] * dx[i] * w[i];
  }
  const float r = inverse_rms(x, E, eps), k = r * r * dot / E;
  for (int i = 0; i < E; i++) {
    if (dw) {
      dw[i] += dx[i] * x[i] * r;
    }
    dx[i] = (dx[i] * w[i] - x[i] * k) * r;
  }
}
