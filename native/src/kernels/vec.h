#pragma once

// Sixteen floats at a time, as the compiler's vector extension lowers them to what the processor has. For the
// inner loops of the CPU kernels: MLX's CPU wheel computes its element-wise operations one number at a time.

#include <cstdint>
#include <cstring>

// One copy of a function for each of these processors, chosen at load. Only plain code inlines into it.
#if defined(__x86_64__) && defined(__linux__)
#define ATELIER_CLONES \
  __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define ATELIER_CLONES
#endif
#define ATELIER_INLINE inline __attribute__((always_inline))

namespace atelier::vec {

constexpr int lanes = 16;
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

using F8 = float __attribute__((vector_size(32)));
using F4 = float __attribute__((vector_size(16)));

/** Folds in halves: few steps, and lanes beyond the processor's width cost nothing. */
ATELIER_INLINE float sum(const F& x) {
  F8 a, b;
  std::memcpy(&a, &x, sizeof a);
  std::memcpy(&b, reinterpret_cast<const char*>(&x) + sizeof a, sizeof b);
  a += b;
  F4 c, d;
  std::memcpy(&c, &a, sizeof c);
  std::memcpy(&d, reinterpret_cast<const char*>(&a) + sizeof c, sizeof d);
  c += d;
  return (c[0] + c[2]) + (c[1] + c[3]);
}

using D = double __attribute__((vector_size(64)));

/** Half of x (0 or 1) in double, for sums that must not round. */
ATELIER_INLINE void wide(D& to, const F& x, int half) {
  F8 part;
  std::memcpy(&part, reinterpret_cast<const char*>(&x) + half * sizeof part, sizeof part);
  to = __builtin_convertvector(part, D);
}
ATELIER_INLINE double sum(const D& x) {
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
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

}  // namespace atelier::vec
