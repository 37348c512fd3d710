#pragma once

namespace atelier {

/**
 * For sources that make heads of a decode step from the q/k/v product: row b's queries of key head hk (h < G), its new
 * key (G) and value (G + 1). A warp makes one, a lane PER numbers and those half a head further.
 */
inline constexpr const char* decode_heads_source = R"(
  auto make_head = [&](int h, int b, int hk, T* written) {
    constexpr int HALF = E / 2, PER = HALF / 32;
    const int i = threadIdx.x % 32 * PER, index = h < G ? hk * G + h : h == G ? H + hk : H + K + hk;
    const T* of = x + (size_t(b) * (H + 2 * K) + index) * E + i;
    const T* w = (h < G ? wq : wk) + i;
    const float* c = cos + (SHARED ? 0 : size_t(b) * E) + i;
    const float* s = sin + (SHARED ? 0 : size_t(b) * E) + i;
    Pack<T, PER> low = load<PER>(of), high = load<PER>(of + HALF);
    const Pack<T, PER> w0 = load<PER>(w), w1 = load<PER>(w + HALF);
    const Pack<float, PER> c0 = load<PER>(c), c1 = load<PER>(c + HALF), s0 = load<PER>(s), s1 = load<PER>(s + HALF);
    if (h <= G) {
      float scale = 1;
      if (NORM) {
        float squares = 0;
        for (int j = 0; j < PER; j++) {
          squares += float(low.v[j]) * float(low.v[j]) + float(high.v[j]) * float(high.v[j]);
        }
        scale = rsqrtf(warp_sum(squares) / E + as_float(EPS));
      }
      for (int j = 0; j < PER; j++) {
        float a = float(low.v[j]), d = float(high.v[j]);
        if (NORM) {
          a *= scale * float(w0.v[j]);
          d *= scale * float(w1.v[j]);
        }
        low.v[j] = T(a * c0.v[j] + d * s0.v[j]);
        high.v[j] = T(d * c1.v[j] + a * s1.v[j]);
      }
    }
    if (written) {
      store<PER>(written + i, low);
      store<PER>(written + HALF + i, high);
    }
  };
  // Where the new key (G) or value (G + 1) belongs in the caches.
  auto slot_of = [&](int h, int b, int hk, int slot) {
    return const_cast<T*>(h == G ? k : v) + ((size_t(b) * K + hk) * S + slot) * E;
  };
)";

}  // namespace atelier
