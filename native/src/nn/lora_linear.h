#pragma once

#include "nn/weight.h"

#include <optional>

namespace atelier {

/**
 * onto + x Wᵀ + (x Aᵀ) Bᵀ for x [.., in], W [out, in] frozen, A [R, in], B [out, R], all of one type, and `onto`
 * [.., out] where it is given: what nn/linear.h says of a product with LoRA, with a backward of its own. It adds
 * gradients in the products, makes those by A and B before it goes on to the layers below, and makes x again where that
 * is one pass over memory. On CUDA; elsewhere the plain ops are differentiated as they are.
 */
mx::array lora_linear(
    const std::optional<mx::array>& onto,
    const Weight& w,
    const mx::array& a,
    const mx::array& b,
    const mx::array& x);
bool lora_linear_fits(const Weight& w, const mx::array& a, const mx::array& x);

}  // namespace atelier
