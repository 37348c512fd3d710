// As many floats at a time as a register holds, as the compiler's vector extension lowers them to what the processor has. For the inner loops
// of the CPU kernels: MLX's CPU wheel computes its element-wise operations one number at a time. Included by
// processors.h alone.

namespace vec {

constexpr int lanes = ATELIER_LANES;
using F = float __attribute__((vector_size(4 * lanes)));
using I = int32_t __attribute__((vector_size(4 * lanes)));

ATELIER_INLINE void load(F& to, const float* from) {
  std::memcpy(&to, from, sizeof(F));
}
/** The first n < lanes numbers; the rest are `fill`. */
ATELIER_INLINE void load_part(F& to, const float* from, int n, float fill) {
  to = F{} + fill;
  std::memcpy(&to, from, n * sizeof(float));
}
ATELIER_INLINE void store(float* to, const F& from) {
  std::memcpy(to, &from, sizeof(F));
}
ATELIER_INLINE void store_part(float* to, const F& from, int n) {
  std::memcpy(to, &from, n * sizeof(float));
}

/** A register's floats: what lanes beyond it are folded into. */
using F4 = float __attribute__((vector_size(16)));

/** Folds in halves: few steps. */
ATELIER_INLINE float sum(const F& x) {
#if ATELIER_LANES == 16
  using F8 = float __attribute__((vector_size(32)));
  F8 low, high;
  std::memcpy(&low, &x, sizeof low);
  std::memcpy(&high, reinterpret_cast<const char*>(&x) + sizeof low, sizeof high);
  low += high;
#else
  const F& low = x;
#endif
  F4 a, b;
  std::memcpy(&a, &low, sizeof a);
  if constexpr (lanes > 4) {
    std::memcpy(&b, reinterpret_cast<const char*>(&low) + sizeof a, sizeof b);
    a += b;
  }
  return (a[0] + a[2]) + (a[1] + a[3]);
}

// Numbers of two vectors in turn: of their first halves, and of their second ones.
#if ATELIER_LANES == 16
#define ATELIER_FIRST 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ATELIER_SECOND 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif ATELIER_LANES == 8
#define ATELIER_FIRST 0, 8, 1, 9, 2, 10, 3, 11
#define ATELIER_SECOND 4, 12, 5, 13, 6, 14, 7, 15
#else
#define ATELIER_FIRST 0, 4, 1, 5
#define ATELIER_SECOND 2, 6, 3, 7
#endif
#if defined(__clang__)
#define ATELIER_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define ATELIER_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, I{__VA_ARGS__})
#endif

// Rows that are half of them apart in turn: after as many rounds as indices have bits, these have changed places.
ATELIER_INLINE void interleave(const F* in, F* out) {
#pragma GCC unroll 8
  for (int i = 0; i < lanes / 2; i++) {
    out[2 * i] = ATELIER_SHUFFLE(in[i], in[i + lanes / 2], ATELIER_FIRST);
    out[2 * i + 1] = ATELIER_SHUFFLE(in[i], in[i + lanes / 2], ATELIER_SECOND);
  }
}

/** Of as many vectors as lanes, all of which are lost, the sum of each: in x[0], in their order. */
ATELIER_INLINE void sums(F* x) {
#pragma GCC unroll 4
  for (int count = lanes / 2; count > 0; count /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < count; i++) {
      x[i] = ATELIER_SHUFFLE(x[i], x[i + count], ATELIER_FIRST) +
             ATELIER_SHUFFLE(x[i], x[i + count], ATELIER_SECOND);
    }
  }
}

#undef ATELIER_FIRST
#undef ATELIER_SECOND
#undef ATELIER_SHUFFLE

using Half = float __attribute__((vector_size(2 * lanes)));
using D = double __attribute__((vector_size(4 * lanes)));

/** Half of x (0 or 1) in double, for sums that must not round. */
ATELIER_INLINE void wide(D& to, const F& x, int half) {
  Half part;
  std::memcpy(&part, reinterpret_cast<const char*>(&x) + half * sizeof part, sizeof part);
  to = __builtin_convertvector(part, D);
}
ATELIER_INLINE double sum(const D& x) {
  double out[lanes / 2];
  std::memcpy(out, &x, sizeof out);
  for (int half = lanes / 4; half > 0; half /= 2) {
    for (int i = 0; i < half; i++) {
      out[i] += out[i + half];
    }
  }
  return out[0];
}

ATELIER_INLINE float max(const F& x) {
  float out = x[0];
  for (int i = 1; i < lanes; i++) {
    out = x[i] > out ? x[i] : out;
  }
  return out;
}

/** e^x in place, within 2 units in the last place; 0 below -87.3, at most e^88. Cephes' expf polynomial. */
ATELIER_INLINE void exp(F& x) {
  const F low = F{} - 87.3f, high = F{} + 88.0f;
  const I under = x < low;
  x = under ? low : x;
  x = x > high ? high : x;
  const F magic = F{} + 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  const F t = x * 1.44269504088896341f + magic;
  const F n = t - magic;
  const F r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  F p = F{} + 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  I bits;
  std::memcpy(&bits, &t, sizeof bits);
  bits = (bits + 127) << 23;  // the magic number's own bits are shifted out
  F scale;
  std::memcpy(&scale, &bits, sizeof scale);
  x = under ? F{} : p * scale;
}

}  // namespace vec
