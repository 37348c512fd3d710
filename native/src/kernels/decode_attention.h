#pragma once

#include "kernels/primitive.h"

#include <cstdint>
#include <vector>

namespace atelier {

/**
 * Attention of one query a row: softmax(q kᵀ / sqrt(E)) v with q [B, H, 1, E] and k, v [B, K, S, E] (views of a
 * longer cache are fine), K dividing H. Row b sees the slots from start[b] (int32 [B]; empty: 0) on.
 */
mx::array decode_attention_plain(
    const mx::array& q,
    const mx::array& k,
    const mx::array& v,
    const std::vector<int32_t>& start);
/** The same in one pass. f32 on the CPU, without a gradient. */
mx::array decode_attention_cpu(
    const mx::array& q,
    const mx::array& k,
    const mx::array& v,
    const std::vector<int32_t>& start);

} // namespace atelier
