// As adamw_plain.
inline void move(
    const AdamWNumbers& n,
    const float* p,
    const float* g,
    const float* m,
    const float* v,
    float* p1,
    float* m1,
    float* v1,
    int count) {
  for (int i = 0; i < count; i++) {
    const float a = m[i] * n.beta1 + g[i] * n.rest1;
    const float b = v[i] * n.beta2 + g[i] * g[i] * n.rest2;
    m1[i] = a;
    v1[i] = b;
    p1[i] = p[i] * n.keep - a / (std::sqrt(b) * n.root + n.epsilon) * n.rate;
  }
}
