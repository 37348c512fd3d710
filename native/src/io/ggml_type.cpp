#include "io/ggml_type.h"

#include "io/ggml_blocks.h"

#include <cstring>

namespace atelier {
namespace {

void read_f32(const uint8_t* in, size_t count, float* out) {
  std::memcpy(out, in, count * 4);
}

void read_f16(const uint8_t* in, size_t count, float* out) {
  for (size_t i = 0; i < count; i++) {
    out[i] = read_half(in + 2 * i);
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

const GgmlType types[] = {
    {0, "F32", 1, 4, read_f32},          {1, "F16", 1, 2, read_f16},
    {2, "Q4_0", 32, 18, read_q4_0},      {3, "Q4_1", 32, 20, read_q4_1},
    {6, "Q5_0", 32, 22, read_q5_0},      {7, "Q5_1", 32, 24, read_q5_1},
    {8, "Q8_0", 32, 34, read_q8_0},      {9, "Q8_1", 32, 36, nullptr},
    {10, "Q2_K", 256, 84, read_q2_k},    {11, "Q3_K", 256, 110, read_q3_k},
    {12, "Q4_K", 256, 144, read_q4_k},   {13, "Q5_K", 256, 176, read_q5_k},
    {14, "Q6_K", 256, 210, read_q6_k},   {15, "Q8_K", 256, 292, nullptr},
    {16, "IQ2_XXS", 256, 66, nullptr},   {17, "IQ2_XS", 256, 74, nullptr},
    {18, "IQ3_XXS", 256, 98, nullptr},   {19, "IQ1_S", 256, 50, nullptr},
    {20, "IQ4_NL", 32, 18, read_iq4_nl}, {21, "IQ3_S", 256, 110, nullptr},
    {22, "IQ2_S", 256, 82, nullptr},     {23, "IQ4_XS", 256, 136, read_iq4_xs},
    {24, "I8", 1, 1, nullptr},           {25, "I16", 1, 2, nullptr},
    {26, "I32", 1, 4, nullptr},          {27, "I64", 1, 8, nullptr},
    {28, "F64", 1, 8, nullptr},          {29, "IQ1_M", 256, 56, nullptr},
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
