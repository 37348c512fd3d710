#pragma once

#include "core/params.h"

#include <string>

namespace atelier {

/**
 * x [..., in] times the product's matrix: y = x Wᵀ + (x Aᵀ) Bᵀ, the second term where `lora` has the product.
 *
 * `weights` holds `<product>.weight` [out, in]; `lora` is what `stack_lora` made: `<product>.A` [R, in] and
 * `<product>.B` [out, R], the scale already in B. Both are arguments, so gradients reach them; an adapter
 * that is off is an empty Params.
 */
mx::array linear(const Params& weights, const Params& lora, const std::string& product, const mx::array& x);

} // namespace atelier
