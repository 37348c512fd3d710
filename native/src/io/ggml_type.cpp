// Block layouts: ggml's ggml-common.h (block_q4_0, block_q4_1, block_q8_0); values are little-endian.
#include "io/ggml_type.h"

#include "core/mlx.h"

#include <cstring>

namespace atelier {
namespace {

float half(const uint8_t* from) {
  uint16_t bits;
  std::memcpy(&bits, from, 2);
  mx::float16_t value;
  std::memcpy(&value, &bits, 2);
  return static_cast<float>(value);
}

void read_f32(const uint8_t* in, size_t count, float* out) {
  std::memcpy(out, in, count * 4);
}

void read_f16(const uint8_t* in, size_t count, float* out) {
  for (size_t i = 0; i < count; i++) {
    out[i] = half(in + 2 * i);
  }
}

void read_bf16(const uint8_t* in, size_t count, float* out) {
  for (size_t i = 0; i < count; i++) {
    uint16_t bits;
    std::memcpy(&bits, in + 2 * i, 2);
    const uint32_t wide = uint32_t{bits} << 16;
    std::memcpy(out + i, &wide, 4);
  }
}

// 32 numbers: d (f16), 32 signed bytes.
void read_q8_0(const uint8_t* in, size_t blocks, float* out) {
  for (size_t b = 0; b < blocks; b++, in += 34, out += 32) {
    const float d = half(in);
    for (int i = 0; i < 32; i++) {
      out[i] = d * static_cast<float>(static_cast<int8_t>(in[2 + i]));
    }
  }
}

// 32 numbers: d (f16), 16 bytes: low halves are the first 16 numbers, high halves the last; minus 8.
void read_q4_0(const uint8_t* in, size_t blocks, float* out) {
  for (size_t b = 0; b < blocks; b++, in += 18, out += 32) {
    const float d = half(in);
    for (int i = 0; i < 16; i++) {
      out[i] = d * static_cast<float>((in[2 + i] & 15) - 8);
      out[16 + i] = d * static_cast<float>((in[2 + i] >> 4) - 8);
    }
  }
}

// As q4_0, but unsigned with a minimum: d (f16), m (f16), 16 bytes; x = d * q + m.
void read_q4_1(const uint8_t* in, size_t blocks, float* out) {
  for (size_t b = 0; b < blocks; b++, in += 20, out += 32) {
    const float d = half(in), m = half(in + 2);
    for (int i = 0; i < 16; i++) {
      out[i] = d * static_cast<float>(in[4 + i] & 15) + m;
      out[16 + i] = d * static_cast<float>(in[4 + i] >> 4) + m;
    }
  }
}

const GgmlType types[] = {
    {0, "F32", 1, 4, read_f32},        {1, "F16", 1, 2, read_f16},
    {2, "Q4_0", 32, 18, read_q4_0},    {3, "Q4_1", 32, 20, read_q4_1},
    {6, "Q5_0", 32, 22, nullptr},      {7, "Q5_1", 32, 24, nullptr},
    {8, "Q8_0", 32, 34, read_q8_0},    {9, "Q8_1", 32, 36, nullptr},
    {10, "Q2_K", 256, 84, nullptr},    {11, "Q3_K", 256, 110, nullptr},
    {12, "Q4_K", 256, 144, nullptr},   {13, "Q5_K", 256, 176, nullptr},
    {14, "Q6_K", 256, 210, nullptr},   {15, "Q8_K", 256, 292, nullptr},
    {16, "IQ2_XXS", 256, 66, nullptr}, {17, "IQ2_XS", 256, 74, nullptr},
    {18, "IQ3_XXS", 256, 98, nullptr}, {19, "IQ1_S", 256, 50, nullptr},
    {20, "IQ4_NL", 32, 18, nullptr},   {21, "IQ3_S", 256, 110, nullptr},
    {22, "IQ2_S", 256, 82, nullptr},   {23, "IQ4_XS", 256, 136, nullptr},
    {24, "I8", 1, 1, nullptr},         {25, "I16", 1, 2, nullptr},
    {26, "I32", 1, 4, nullptr},        {27, "I64", 1, 8, nullptr},
    {28, "F64", 1, 8, nullptr},        {29, "IQ1_M", 256, 56, nullptr},
    {30, "BF16", 1, 2, read_bf16},
};

}  // namespace

const GgmlType* find_ggml_type(uint32_t id) {
  for (const GgmlType& t : types) {
    if (t.id == id) {
      return &t;
    }
  }
  return nullptr;
}

const GgmlType* find_ggml_type(const char* name) {
  for (const GgmlType& t : types) {
    if (std::strcmp(t.name, name) == 0) {
      return &t;
    }
  }
  return nullptr;
}

}  // namespace atelier
