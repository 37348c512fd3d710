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
 * `weights` holds what `stack_products` made (nn/stacking.h), floats or quantised, and `<name>.bias` [out]; `lora` what
 * `stack_lora` made: `<name>.A` [R, in] and `<name>.B` [out, R], the scale already in B, and `<name>.gain` [out], by
 * which y without its bias is multiplied, where a module has DoRA. Both are arguments, so gradients reach them; an
 * adapter that is off is an empty Params.
 */
mx::array
linear(const Params& weights, const Params& lora, const std::string& name, const mx::array& x);

/** residual + linear(...), in the products where the device can. */
mx::array linear_onto(
    const mx::array& residual,
    const Params& weights,
    const Params& lora,
    const std::string& name,
    const mx::array& x);

/** Rows of the embedding `<name>.weight` [V, D], floats or quantised, at ids. */
mx::array
embedding(const Params& weights, const std::string& name, const mx::array& ids, int width);

}  // namespace atelier
