#pragma once

#include "kernels/gemm.h"

#include <cstdint>

namespace atelier {

/** One key head of one row: G query heads, L queries in the last of S slots, heads of E (kernels/attention.h). */
struct AttentionGroup {
  int G, L, S, E;
  int start, window;
  double scale;
};

/** Numbers (g, l, e) of its queries at data[g * head + l * row + e]. */
template <class T>
struct HeadRows {
  T* data;
  int64_t head, row;
};

/** q [G L, E], k [S, E], v [S, E] by rows; p [G L, S] is what slots are weighted by. On the calling thread. */
void attend_group(
    const AttentionGroup& z,
    const float* q,
    const float* k,
    Strided v,
    float* p,
    HeadRows<float> y);

/** The gradients by q, k and v (rows `v_step` apart). */
void attend_group_vjp(
    const AttentionGroup& z,
    const float* q,
    const float* k,
    Strided v,
    const float* p,
    HeadRows<const float> g,
    float* dq,
    float* dk,
    float* dv,
    int64_t v_step);

}  // namespace atelier
