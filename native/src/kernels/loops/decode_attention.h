// Shapes: B batch, H query heads, K key heads, S slots, E head.

// One query head. k, v: slots of E numbers each, `step` apart. scores: room for S rounded up to whole lanes.
inline void attend(
    const float* q,
    const float* k,
    const float* v,
    int64_t step_k,
    int64_t step_v,
    int from,
    int S,
    int E,
    float scale,
    float* scores,
    float* out) {
  float top = -INFINITY;
  for (int s = from; s < S; s++) {
    const float* at = k + s * step_k;
    vec::F a, b, total{};
    int i = 0;
    for (; i + vec::lanes <= E; i += vec::lanes) {
      vec::load(a, q + i);
      vec::load(b, at + i);
      total += a * b;
    }
    float dot = vec::sum(total);
    for (; i < E; i++) {
      dot += q[i] * at[i];
    }
    scores[s] = dot * scale;
    top = scores[s] > top ? scores[s] : top;
  }
  vec::F a, b, total{};
  for (int s = from; s < S; s += vec::lanes) {
    const int n = std::min(vec::lanes, S - s);
    vec::load_part(a, scores + s, n, -INFINITY);
    a = a - top;
    vec::exp(a);
    total += a;
    vec::store_part(scores + s, a, n);
  }
  const float inverse = 1.0f / vec::sum(total);
  int i = 0;
  for (; i + vec::lanes <= E; i += vec::lanes) {
    vec::F sum{};
    for (int s = from; s < S; s++) {
      vec::load(b, v + s * step_v + i);
      sum += b * scores[s];
    }
    vec::store(out + i, sum * inverse);
  }
  for (; i < E; i++) {
    float sum = 0;
    for (int s = from; s < S; s++) {
      sum += v[s * step_v + i] * scores[s];
    }
    out[i] = sum * inverse;
  }
}
