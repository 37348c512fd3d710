#pragma once

#include "core/modules.h"
#include "nn/weight.h"

#include <vector>

namespace atelier {

/**
 * Modules that read the same input in one product (core/modules.h): `checkpoint`'s tensors with the rows of each
 * product's modules in one matrix. Modules that are stored differently (bits, group size) cannot share one: the
 * product is then cut into parts, each under the name of `part_name`. Everything else stays as it is.
 */
Params stack_products(const std::vector<LinearModule>& modules, const Params& checkpoint);

/** Its inverse. */
Params unstack_products(const std::vector<LinearModule>& modules, const Params& weights);

/** Name of part k of a product: the product's own for the first. */
std::string part_name(const std::string& product, int k);

/** The matrix of one module as floats. */
mx::array module_floats(const Params& weights, const LinearModule& module);

}  // namespace atelier
