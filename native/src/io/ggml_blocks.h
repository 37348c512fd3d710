#pragma once

#include <cstddef>
#include <cstdint>

namespace atelier {

// Blocks of ggml's quantised types as f32: `blocks` of them from `in`, to `out`. Layouts and arithmetic: ggml's
// ggml-common.h and ggml-quants.c (dequantize_row_*); values are little-endian.

void read_q4_0(const uint8_t* in, size_t blocks, float* out);
void read_q4_1(const uint8_t* in, size_t blocks, float* out);
void read_q5_0(const uint8_t* in, size_t blocks, float* out);
void read_q5_1(const uint8_t* in, size_t blocks, float* out);
void read_q8_0(const uint8_t* in, size_t blocks, float* out);
void read_iq4_nl(const uint8_t* in, size_t blocks, float* out);
void read_iq4_xs(const uint8_t* in, size_t blocks, float* out);

void read_q2_k(const uint8_t* in, size_t blocks, float* out);
void read_q3_k(const uint8_t* in, size_t blocks, float* out);
void read_q4_k(const uint8_t* in, size_t blocks, float* out);
void read_q5_k(const uint8_t* in, size_t blocks, float* out);
void read_q6_k(const uint8_t* in, size_t blocks, float* out);

/** f16 at a place of any alignment. */
float read_half(const uint8_t* from);

/** Rounds to Q8_0 as ggml's quantize_row_q8_0_ref does: d = max |x| / 127 in f32, kept as f16. 32 numbers a block. */
void write_q8_0(const float* in, size_t blocks, uint8_t* out);

}  // namespace atelier
