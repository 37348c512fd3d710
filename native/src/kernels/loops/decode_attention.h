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
  using vec::lanes;
  float top = -INFINITY;
  int s = from;
  for (; s + lanes <= S; s += lanes) {
    vec::F dots[lanes] = {};
    int i = 0;
    for (; i + lanes <= E; i += lanes) {
      vec::F x, y;
      vec::load(x, q + i);
#pragma GCC unroll 16
      for (int j = 0; j < lanes; j++) {
        vec::load(y, k + (s + j) * step_k + i);
        dots[j] += x * y;
      }
    }
    vec::sums(dots);
    for (; i < E; i++) {
      for (int j = 0; j < lanes; j++) {
        dots[0][j] += q[i] * k[(s + j) * step_k + i];
      }
    }
    dots[0] *= scale;
    vec::store(scores + s, dots[0]);
    const float most = vec::max(dots[0]);
    top = most > top ? most : top;
  }
  for (; s < S; s++) {
    const float* at = k + s * step_k;
    vec::F a, b, dots{};
    int i = 0;
    for (; i + lanes <= E; i += lanes) {
      vec::load(a, q + i);
      vec::load(b, at + i);
      dots += a * b;
    }
    float dot = vec::sum(dots);
    for (; i < E; i++) {
      dot += q[i] * at[i];
    }
    scores[s] = dot * scale;
    top = scores[s] > top ? scores[s] : top;
  }
  vec::F a, b, total{};
  for (s = from; s < S; s += lanes) {
    const int n = std::min(lanes, S - s);
    vec::load_part(a, scores + s, n, -INFINITY);
    a = a - top;
    vec::exp(a);
    total += a;
    vec::store_part(scores + s, a, n);
  }
  const float inverse = 1.0f / vec::sum(total);
  int i = 0;
  for (; i + lanes <= E; i += lanes) {
    // Four sums: one after the other would wait for each addition.
    vec::F part[4] = {};
    s = from;
    for (; s + 4 <= S; s += 4) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; j++) {
        vec::load(b, v + (s + j) * step_v + i);
        part[j] += b * scores[s + j];
      }
    }
    for (; s < S; s++) {
      vec::load(b, v + s * step_v + i);
      part[0] += b * scores[s];
    }
    vec::store(out + i, ((part[0] + part[1]) + (part[2] + part[3])) * inverse);
  }
  for (; i < E; i++) {
    float sum = 0;
    for (s = from; s < S; s++) {
      sum += v[s * step_v + i] * scores[s];
    }
    out[i] = sum * inverse;
  }
}
