#pragma once

#include "core/modules.h"
#include "core/params.h"

#include <vector>

namespace atelier {

/**
 * Lengths [out] of the rows of W + scale B A, f32, without W + scale B A being made: |w|^2 + 2 s b (A w) + s^2 b A A^T b.
 */
mx::array dora_norms(const mx::array& w, const mx::array& a, const mx::array& b, float scale);

/**
 * An adapter's parameters (core/modules.h names them) in the form that the forward takes: for each product
 * with an adapted module, `<product>.A` (the modules' A stacked) and `<product>.B` (block diagonal, scaled), in
 * `dtype`, of experts with their number before; with DoRA also `<product>.gain` [out], the trained lengths by those of
 * the base's rows (`weights`) with the adapter, 1 where a module has none. As in PEFT the rows' lengths are constants to
 * the gradient. Differentiable in `params`: training calls it inside the function that is differentiated, inference
 * once for a whole generation.
 */
Params stack_lora(
    const std::vector<LinearModule>& modules,
    const LoraSites& sites,
    const Params& params,
    const Params& weights,
    mx::Dtype dtype);

/**
 * Adds to what stack_lora made, for each product of floats, `<product>.WA` [out + R, in]: W with the stacked A below it,
 * a copy, so that one product makes x Wᵀ and x Aᵀ. For decoding that many rows on a GPU, where a product of so few features
 * as A's takes as long as one that fills it; not where steps are `recorded` and a kernel makes both for so many rows
 * (kernels/thin_product.h).
 */
void join_lora(Params& lora, const Params& weights, int rows, bool recorded);
/** Bytes that it would take; 0 where nothing would use it. */
uint64_t join_lora_bytes(const Params& lora, const Params& weights, int rows, bool recorded);

}  // namespace atelier
