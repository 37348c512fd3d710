#pragma once

#include "kernels/primitive.h"

#include <optional>

namespace atelier {

/** y + h Bᵀ for y [.., O], h [.., R] and B [O, R], of one type: what LoRA adds to a product. */
mx::array lora_sum_plain(const mx::array& y, const mx::array& h, const mx::array& b);
/** The same on CUDA, in one pass over y of 512 rows at most, rounded where the twin is. No gradient. */
mx::array lora_sum_gpu(const mx::array& y, const mx::array& h, const mx::array& b);
bool lora_sum_fits_gpu(const mx::array& y, const mx::array& h, const mx::array& b);

/** silu(gate) * up of what lora_sum_gpu gave, in the same pass; none where it gave something else. */
std::optional<mx::array> lora_sum_gated_gpu(const mx::array& gate_up);

}  // namespace atelier
