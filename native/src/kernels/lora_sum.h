#pragma once

#include "kernels/primitive.h"

#include <optional>

namespace atelier {

/**
 * (onto +) y + h Bᵀ for y [.., O], h [.., R] and B [O, R], of one type: what LoRA adds to a product, beside a residual
 * where there is one. Where there is no h, it stands behind y in its rows, [.., O + R]: one product has made both
 * (nn/lora.h's join_lora).
 */
struct LoraSum {
  mx::array y;
  std::optional<mx::array> h;
  mx::array b;
  std::optional<mx::array> onto = std::nullopt;
};

mx::array lora_sum_plain(const LoraSum& sum);
/** The same on CUDA, in one pass over y of lora_sum_rows at most, rounded once. No gradient. */
mx::array lora_sum_gpu(const LoraSum& sum);
bool lora_sum_fits_gpu(const LoraSum& sum);
/** Rows that the kernel takes at most (each 16 read all of B once more), and what features and ranks are multiples of. */
constexpr int lora_sum_rows = 512, lora_sum_features = 32, lora_sum_ranks = 16;

/** silu(gate) * up of what lora_sum_gpu gave, in the same pass; none where it gave something else. */
std::optional<mx::array> lora_sum_gated_gpu(const mx::array& gate_up);

}  // namespace atelier
