#include "io/ggml_blocks.h"

#include "core/mlx.h"

#include <cmath>
#include <cstring>

namespace atelier {
namespace {

uint32_t read_u32(const uint8_t* from) {
  uint32_t value;
  std::memcpy(&value, from, 4);
  return value;
}

// kvalues_iq4nl
const float iq4_values[16] =
    {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

}  // namespace

float read_half(const uint8_t* from) {
  uint16_t bits;
  std::memcpy(&bits, from, 2);
  mx::float16_t value;
  std::memcpy(&value, &bits, 2);
  return static_cast<float>(value);
}

// 32 numbers: d (f16), 16 bytes: low halves are the first 16 numbers, high halves the last; minus 8.
void read_q4_0(const uint8_t* in, size_t blocks, float* out) {
  for (size_t b = 0; b < blocks; b++, in += 18, out += 32) {
    const float d = read_half(in);
    for (int i = 0; i < 16; i++) {
      out[i] = d * static_cast<float>((in[2 + i] & 15) - 8);
      out[16 + i] = d * static_cast<float>((in[2 + i] >> 4) - 8);
    }
  }
}

// As q4_0, but unsigned with a minimum: d (f16), m (f16), 16 bytes; x = d * q + m.
void read_q4_1(const uint8_t* in, size_t blocks, float* out) {
  for (size_t b = 0; b < blocks; b++, in += 20, out += 32) {
    const float d = read_half(in), m = read_half(in + 2);
    for (int i = 0; i < 16; i++) {
      out[i] = d * static_cast<float>(in[4 + i] & 15) + m;
      out[16 + i] = d * static_cast<float>(in[4 + i] >> 4) + m;
    }
  }
}

// As q4_0 with a fifth bit each in 32 bits before the halves; minus 16.
void read_q5_0(const uint8_t* in, size_t blocks, float* out) {
  for (size_t b = 0; b < blocks; b++, in += 22, out += 32) {
    const float d = read_half(in);
    const uint32_t high = read_u32(in + 2);
    for (int i = 0; i < 16; i++) {
      const int low = (in[6 + i] & 15) | ((high >> i & 1) << 4);
      const int up = (in[6 + i] >> 4) | ((high >> (i + 16) & 1) << 4);
      out[i] = d * static_cast<float>(low - 16);
      out[16 + i] = d * static_cast<float>(up - 16);
    }
  }
}

// As q4_1 with a fifth bit.
void read_q5_1(const uint8_t* in, size_t blocks, float* out) {
  for (size_t b = 0; b < blocks; b++, in += 24, out += 32) {
    const float d = read_half(in), m = read_half(in + 2);
    const uint32_t high = read_u32(in + 4);
    for (int i = 0; i < 16; i++) {
      out[i] = d * static_cast<float>((in[8 + i] & 15) | ((high >> i & 1) << 4)) + m;
      out[16 + i] = d * static_cast<float>((in[8 + i] >> 4) | ((high >> (i + 16) & 1) << 4)) + m;
    }
  }
}

// 32 numbers: d (f16), 32 signed bytes.
void read_q8_0(const uint8_t* in, size_t blocks, float* out) {
  for (size_t b = 0; b < blocks; b++, in += 34, out += 32) {
    const float d = read_half(in);
    for (int i = 0; i < 32; i++) {
      out[i] = d * static_cast<float>(static_cast<int8_t>(in[2 + i]));
    }
  }
}

// As q4_0; the halves are places in a table.
void read_iq4_nl(const uint8_t* in, size_t blocks, float* out) {
  for (size_t b = 0; b < blocks; b++, in += 18, out += 32) {
    const float d = read_half(in);
    for (int i = 0; i < 16; i++) {
      out[i] = d * iq4_values[in[2 + i] & 15];
      out[16 + i] = d * iq4_values[in[2 + i] >> 4];
    }
  }
}

// 256 numbers: d (f16), 8 scales of 6 bits (high bits in 16, low halves in 4 bytes), 8 groups as iq4_nl.
void read_iq4_xs(const uint8_t* in, size_t blocks, float* out) {
  for (size_t b = 0; b < blocks; b++, in += 136) {
    const float d = read_half(in);
    const int high = in[2] | in[3] << 8;
    for (int g = 0; g < 8; g++, out += 32) {
      const int scale = (in[4 + g / 2] >> 4 * (g % 2) & 15) | (high >> 2 * g & 3) << 4;
      const float dl = d * static_cast<float>(scale - 32);
      const uint8_t* q = in + 8 + 16 * g;
      for (int i = 0; i < 16; i++) {
        out[i] = dl * iq4_values[q[i] & 15];
        out[16 + i] = dl * iq4_values[q[i] >> 4];
      }
    }
  }
}

void write_q8_0(const float* in, size_t blocks, uint8_t* out) {
  for (size_t b = 0; b < blocks; b++, in += 32, out += 34) {
    float most = 0;
    for (int i = 0; i < 32; i++) {
      most = std::max(most, std::abs(in[i]));
    }
    const float d = most / 127.0f, inverse = d != 0 ? 1.0f / d : 0.0f;
    const mx::float16_t half(d);
    std::memcpy(out, &half, 2);
    for (int i = 0; i < 32; i++) {
      out[2 + i] = static_cast<uint8_t>(static_cast<int8_t>(std::round(in[i] * inverse)));
    }
  }
}

}  // namespace atelier
