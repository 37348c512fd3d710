#pragma once

#include "kernels/primitive.h"

#include <optional>

namespace atelier {

/** onto + x Wᵀ + (x Aᵀ) Bᵀ: x [..., I], W [O, I], A [R, I], B [O, R], `onto` [..., O] or 0. */
struct LoraProduct {
  mx::array x, w, a, b;
  std::optional<mx::array> onto = std::nullopt;
};

mx::array lora_product_plain(const LoraProduct& p);
/** The same in one pass over the rows on several threads, forward and backward; W has no gradient. f32 on the CPU. */
mx::array lora_product_cpu(const LoraProduct& p);

}  // namespace atelier
