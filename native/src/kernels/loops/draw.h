// Shapes: B rows, V vocabulary.

inline float greatest(const float* x, int V) {
  vec::F a, best = vec::F{} - INFINITY;
  int i = 0;
  for (; i + vec::lanes <= V; i += vec::lanes) {
    vec::load(a, x + i);
    best = a > best ? a : best;
  }
  vec::load_part(a, x + i, V - i, -INFINITY);
  best = a > best ? a : best;
  return vec::max(best);
}

// y = exp((x - top) * by), or only its sum where y is null.
inline double exp_sum(const float* x, float* y, int V, float top, float by) {
  double total = 0;
  vec::F a;
  // Sums of at most 1024 numbers in f32, those in f64: a vocabulary has 10^5.
  for (int block = 0; block < V; block += 1024) {
    const int end = std::min(block + 1024, V);
    vec::F sum{};
    for (int i = block; i < end; i += vec::lanes) {
      const int n = std::min(vec::lanes, end - i);
      if (n == vec::lanes) {
        vec::load(a, x + i);
      } else {
        vec::load_part(a, x + i, n, -INFINITY);
      }
      a = (a - top) * by;
      vec::exp(a);
      sum += a;
      if (y && n == vec::lanes) {
        vec::store(y + i, a);
      } else if (y) {
        vec::store_part(y + i, a, n);
      }
    }
    total += vec::sum(sum);
  }
  return total;
}
