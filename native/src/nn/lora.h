#pragma once

#include "core/params.h"
#include "nn/linear.h"

#include <map>
#include <string>
#include <vector>

namespace atelier {

/** Rank and effective scale (alpha / rank, or alpha / sqrt(rank) with rsLoRA) of one adapted module. */
struct LoraSite {
  int rank;
  float scale;
};

/** By transformers' module name. */
using LoraSites = std::map<std::string, LoraSite>;

/** Names of an adapter's parameters: `<module>.lora_A.weight` [rank, in], `<module>.lora_B.weight` [out, rank]. */
std::string lora_a(const std::string& module);
std::string lora_b(const std::string& module);

/**
 * The form that the forward takes: for each product with an adapted module, `<product>.A` (the modules' A
 * stacked) and `<product>.B` (block diagonal, scaled), in `dtype`. Differentiable in `params`: training calls
 * it inside the function that is differentiated, inference once for a whole generation.
 */
Params stack_lora(
    const std::vector<LinearModule>& modules,
    const LoraSites& sites,
    const Params& params,
    mx::Dtype dtype);

} // namespace atelier
