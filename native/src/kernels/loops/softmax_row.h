// Of rows that attention sees part of.

/** y = softmax(x) over [from, to), 0 elsewhere in [0, S). May work in place. */
ATELIER_INLINE void softmax_row(const float* x, float* y, int from, int to, int S) {
  vec::F a, best = vec::F{} - INFINITY;
  int i = from;
  for (; i + vec::lanes <= to; i += vec::lanes) {
    vec::load(a, x + i);
    best = a > best ? a : best;
  }
  vec::load_part(a, x + i, to - i, -INFINITY);
  best = a > best ? a : best;
  const float top = vec::max(best);
  vec::F total{};
  for (i = from; i + vec::lanes <= to; i += vec::lanes) {
    vec::load(a, x + i);
    a = a - top;
    vec::exp(a);
    total += a;
    vec::store(y + i, a);
  }
  if (i < to) {
    vec::load_part(a, x + i, to - i, -INFINITY);
    a = a - top;
    vec::exp(a);
    total += a;
    vec::store_part(y + i, a, to - i);
  }
  const float inverse = 1.0f / vec::sum(total);
  for (i = from; i < to; i++) {
    y[i] *= inverse;
  }
  std::fill(y, y + from, 0.0f);
  std::fill(y + to, y + S, 0.0f);
}

/** Its backward, in place of the cotangent: g = scale y (g - sum(g y)). */
ATELIER_INLINE void
softmax_row_vjp(const float* y, float* g, int from, int to, int S, float scale) {
  vec::F a, b, total{};
  int i = from;
  for (; i + vec::lanes <= to; i += vec::lanes) {
    vec::load(a, y + i);
    vec::load(b, g + i);
    total += a * b;
  }
  vec::load_part(a, y + i, to - i, 0);
  vec::load_part(b, g + i, to - i, 0);
  total += a * b;
  const float dot = vec::sum(total);
  for (i = from; i < to; i++) {
    g[i] = scale * y[i] * (g[i] - dot);
  }
  std::fill(g, g + from, 0.0f);
  std::fill(g + to, g + S, 0.0f);
}
