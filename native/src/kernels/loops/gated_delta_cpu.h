// Shapes: B batch, L length, Hk key heads, H value heads, D key head, E value head.

ATELIER_INLINE float dot(const float* a, const float* b, int n) {
  vec::F sum{}, x, y;
  int i = 0;
  for (; i + vec::lanes <= n; i += vec::lanes) {
    vec::load(x, a + i);
    vec::load(y, b + i);
    sum += x * y;
  }
  float out = vec::sum(sum);
  for (; i < n; i++) {
    out += a[i] * b[i];
  }
  return out;
}

// to = a * from + b * more; `from` may be `to`.
ATELIER_INLINE void
combine(float* to, float a, const float* from, float b, const float* more, int n) {
  for (int i = 0; i < n; i++) {
    to[i] = a * from[i] + b * more[i];
  }
}

/** Factors of the decay, [D]: e^decay. */
ATELIER_INLINE void factors(const float* decay, bool channels, int D, float* a) {
  if (!channels) {
    std::fill(a, a + D, std::exp(*decay));
    return;
  }
  for (int d = 0; d < D; d++) {
    a[d] = std::exp(decay[d]);
  }
}

// after = the state behind the position, of `before` (which may be the same array). `a` and `delta`: workspace [D],
// [E]; delta ends as beta (v - Sᵀ k).
inline void advance(
    const Position& at,
    bool channels,
    const float* before,
    float* after,
    float* a,
    float* delta,
    int D,
    int E) {
  factors(at.decay, channels, D, a);
  std::fill(delta, delta + E, 0.0f);
  for (int d = 0; d < D; d++) {
    combine(delta, 1, delta, at.k[d] * a[d], before + d * E, E);
  }
  for (int e = 0; e < E; e++) {
    delta[e] = at.beta * (at.v[e] - delta[e]);
  }
  for (int d = 0; d < D; d++) {
    combine(after + d * E, a[d], before + d * E, at.k[d], delta, E);
  }
}

inline void answer(const float* state, const float* q, float* y, int D, int E) {
  std::fill(y, y + E, 0.0f);
  for (int d = 0; d < D; d++) {
    combine(y, 1, y, q[d], state + d * E, E);
  }
}

// With P the decayed state and S = P + k deltaᵀ the one behind the position: takes dS and makes it the gradient of the
// state before. `work` [2 E].
inline void retreat(
    const Position& at,
    bool channels,
    const float* before,
    const float* after,
    const float* dy,
    float* dS,
    const PositionGradient& g,
    float* a,
    float* work,
    int D,
    int E) {
  float *memory = work, *d_delta = work + E;
  factors(at.decay, channels, D, a);
  std::fill(memory, memory + E, 0.0f);
  std::fill(d_delta, d_delta + E, 0.0f);
  for (int d = 0; d < D; d++) {
    g.q[d] += dot(after + d * E, dy, E);
    combine(dS + d * E, 1, dS + d * E, at.q[d], dy, E);
    combine(memory, 1, memory, at.k[d] * a[d], before + d * E, E);
    combine(d_delta, 1, d_delta, at.k[d], dS + d * E, E);
  }
  float d_beta = 0;
  for (int e = 0; e < E; e++) {
    const float error = at.v[e] - memory[e];
    d_beta += d_delta[e] * error;
    memory[e] = at.beta * error;  // delta
    d_delta[e] *= at.beta;        // of v, and less of what the state answered
    g.v[e] += d_delta[e];
  }
  *g.beta += d_beta;
  for (int d = 0; d < D; d++) {
    float* row = dS + d * E;
    const float* p = before + d * E;
    g.k[d] += dot(row, memory, E) - a[d] * dot(p, d_delta, E);
    combine(row, 1, row, -at.k[d], d_delta, E);
    g.decay[channels ? d : 0] += a[d] * dot(row, p, E);
    for (int e = 0; e < E; e++) {
      row[e] *= a[d];
    }
  }
}
