// ggml's K-quants: blocks of 256 numbers, whose groups of 16 or 32 have scales (and minima) of 4 to 8 bits.
#include "io/ggml_blocks.h"

namespace atelier {
namespace {

// Eight scales and minima of 6 bits in 12 bytes (get_scale_min_k4).
struct ScaleMin {
  float scale, min;
};
ScaleMin scale_min(const uint8_t* q, int j, float d, float dmin) {
  const int scale = j < 4 ? q[j] & 63 : (q[j + 4] & 15) | (q[j - 4] >> 6) << 4;
  const int min = j < 4 ? q[j + 4] & 63 : q[j + 4] >> 4 | (q[j] >> 6) << 4;
  return {d * static_cast<float>(scale), dmin * static_cast<float>(min)};
}

}  // namespace

// 16 scales (low half) and minima (high half), 64 bytes of 4 numbers, d, dmin.
void read_q2_k(const uint8_t* in, size_t blocks, float* out) {
  for (size_t b = 0; b < blocks; b++, in += 84) {
    const float d = read_half(in + 80), dmin = read_half(in + 82);
    for (int g = 0; g < 16; g++, out += 16) {
      const float scale = d * static_cast<float>(in[g] & 15);
      const float min = dmin * static_cast<float>(in[g] >> 4);
      const uint8_t* q = in + 16 + 32 * (g / 8) + 16 * (g % 2);
      const int shift = 2 * (g / 2 % 4);
      for (int i = 0; i < 16; i++) {
        out[i] = scale * static_cast<float>(q[i] >> shift & 3) - min;
      }
    }
  }
}

// 32 bytes of third bits, 64 bytes of 4 numbers, 16 scales of 6 bits in 12 bytes, d.
void read_q3_k(const uint8_t* in, size_t blocks, float* out) {
  for (size_t b = 0; b < blocks; b++, in += 110) {
    const uint8_t* scales = in + 96;
    const float d = read_half(in + 108);
    for (int g = 0; g < 16; g++, out += 16) {
      const int low = g < 8 ? scales[g] & 15 : scales[g - 8] >> 4;
      const int scale = low | (scales[8 + g % 4] >> 2 * (g / 4) & 3) << 4;
      const float dl = d * static_cast<float>(scale - 32);
      const uint8_t* q = in + 32 + 32 * (g / 8) + 16 * (g % 2);
      const uint8_t* high = in + 16 * (g % 2);
      const int shift = 2 * (g / 2 % 4), bit = g / 2;
      for (int i = 0; i < 16; i++) {
        out[i] = dl * static_cast<float>((q[i] >> shift & 3) - (high[i] >> bit & 1 ? 0 : 4));
      }
    }
  }
}

// d, dmin, scales and minima, 128 bytes of 2 numbers.
void read_q4_k(const uint8_t* in, size_t blocks, float* out) {
  for (size_t b = 0; b < blocks; b++, in += 144) {
    const float d = read_half(in), dmin = read_half(in + 2);
    for (int g = 0; g < 8; g++, out += 32) {
      const auto [scale, min] = scale_min(in + 4, g, d, dmin);
      const uint8_t* q = in + 16 + 32 * (g / 2);
      for (int i = 0; i < 32; i++) {
        out[i] = scale * static_cast<float>(q[i] >> 4 * (g % 2) & 15) - min;
      }
    }
  }
}

// As q4_k, with 32 bytes of fifth bits before the halves.
void read_q5_k(const uint8_t* in, size_t blocks, float* out) {
  for (size_t b = 0; b < blocks; b++, in += 176) {
    const float d = read_half(in), dmin = read_half(in + 2);
    for (int g = 0; g < 8; g++, out += 32) {
      const auto [scale, min] = scale_min(in + 4, g, d, dmin);
      const uint8_t *high = in + 16, *q = in + 48 + 32 * (g / 2);
      for (int i = 0; i < 32; i++) {
        const int value = (q[i] >> 4 * (g % 2) & 15) | (high[i] >> g & 1) << 4;
        out[i] = scale * static_cast<float>(value) - min;
      }
    }
  }
}

// 128 bytes of low halves, 64 bytes of 4 upper pairs, 16 signed scales, d.
void read_q6_k(const uint8_t* in, size_t blocks, float* out) {
  for (size_t b = 0; b < blocks; b++, in += 210) {
    const float d = read_half(in + 208);
    for (int g = 0; g < 16; g++, out += 16) {
      // Eight groups of a half: two of each quarter.
      const int half = g / 8, quarter = g / 2 % 4, from = 16 * (g % 2);
      const uint8_t* low = in + 64 * half + 32 * (quarter % 2) + from;
      const uint8_t* high = in + 128 + 32 * half + from;
      const float scale = d * static_cast<float>(static_cast<int8_t>(in[192 + g]));
      for (int i = 0; i < 16; i++) {
        const int value = (low[i] >> 4 * (quarter / 2) & 15) | (high[i] >> 2 * quarter & 3) << 4;
        out[i] = scale * static_cast<float>(value - 32);
      }
    }
  }
}

}  // namespace atelier
