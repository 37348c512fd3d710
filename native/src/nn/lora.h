#pragma once

#include "core/modules.h"
#include "core/params.h"

#include <vector>

namespace atelier {

/**
 * An adapter's parameters (core/modules.h names them) in the form that the forward takes: for each product
 * with an adapted module, `<product>.A` (the modules' A stacked) and `<product>.B` (block diagonal, scaled), in
 * `dtype`; of experts with their number before. Differentiable in `params`: training calls it inside the function that is differentiated, inference
 * once for a whole generation.
 */
Params stack_lora(
    const std::vector<LinearModule>& modules,
    const LoraSites& sites,
    const Params& params,
    mx::Dtype dtype);

}  // namespace atelier
