#pragma once

#include "kernels/primitive.h"

#include <cstdint>
#include <vector>

namespace atelier {

/**
 * Attention weights: softmax of scale * scores [B, ..., L, S] over the slots that a query sees, 0 elsewhere.
 * Query l stands in slot S - L + l and sees the slots from its row's `start` (int32 [B]; empty: 0) up to its own;
 * a query before its row's start sees its own slot only.
 */
mx::array causal_softmax_plain(const mx::array& scores, float scale, const std::vector<int32_t>& start);
/** The same in one pass each way. f32 on the CPU. */
mx::array causal_softmax_cpu(const mx::array& scores, float scale, const std::vector<int32_t>& start);

} // namespace atelier
