// C targets of one chunk, V vocabulary.

using vec::F;
using vec::lanes;

inline float row_max(const float* l, int V) {
  F most = F{} + -std::numeric_limits<float>::infinity();
  int v = 0;
  for (; v + lanes <= V; v += lanes) {
    F x;
    vec::load(x, l + v);
    most = x > most ? x : most;
  }
  if (v < V) {
    F x;
    vec::load_part(x, l + v, V - v, -std::numeric_limits<float>::infinity());
    most = x > most ? x : most;
  }
  return vec::max(most);
}

// Sums of e^(l - m) and of e^(l - m) (l - m); the exponentials themselves where `p` is given.
inline void row_sums(const float* l, int V, float m, float* p, float* sum, float* weighted) {
  F sums = {}, weights = {};
  for (int v = 0; v < V; v += lanes) {
    const int n = std::min(lanes, V - v);
    F x;
    if (n == lanes) {
      vec::load(x, l + v);
    } else {
      vec::load_part(x, l + v, n, m - 1000.0f);  // its exponential is 0
    }
    x = x - m;
    F e = x;
    vec::exp(e);
    sums += e;
    weights += e * x;
    if (p && n == lanes) {
      vec::store(p + v, e);
    } else if (p) {
      vec::store_part(p + v, e, n);
    }
  }
  *sum = vec::sum(sums);
  *weighted = vec::sum(weights);
}

inline void row_scale(float* p, int V, float by) {
  for (int v = 0; v < V; v++) {
    p[v] *= by;
  }
}

// d = -p (g + h (log p + entropy)); the target's own g is added by the caller.
inline void
row_backward(const float* l, int V, float lse, float g, float h, float entropy, float* d) {
  for (int v = 0; v < V; v += lanes) {
    const int n = std::min(lanes, V - v);
    F x;
    if (n == lanes) {
      vec::load(x, l + v);
    } else {
      vec::load_part(x, l + v, n, lse);
    }
    x = x - lse;
    F p = x;
    vec::exp(p);
    const F out = -p * (h * (x + entropy) + g);
    if (n == lanes) {
      vec::store(d + v, out);
    } else {
      vec::store_part(d + v, out, n);
    }
  }
}
