#pragma once

#include "core/params.h"

#include <string>

namespace atelier {

/** x [..., in] times wᵀ, w [out, in]. */
mx::array product(const mx::array& x, const mx::array& w);

/**
 * x [..., in] times the matrix of a product (core/modules.h): y = x Wᵀ + b + (x Aᵀ) Bᵀ; the bias
 * where `weights`, the last term where `lora` has it.
 *
 * `weights` holds `<name>.weight` [out, in] and `<name>.bias` [out]; `lora` is what `stack_lora` made: `<name>.A` [R, in] and
 * `<name>.B` [out, R], the scale already in B. Both are arguments, so gradients reach them; an adapter
 * that is off is an empty Params.
 */
mx::array
linear(const Params& weights, const Params& lora, const std::string& name, const mx::array& x);

}  // namespace atelier
