#pragma once

#include "models/model.h"

#include <cstdint>
#include <vector>

namespace atelier {

/** A cache that holds the prompts, one row each, and f32 logits [P, V] after their last tokens. */
struct Prefilled {
  KvCache cache;
  mx::array logits;
};

/**
 * Runs prompts of any lengths (each at least one token) through the model, at most `tokens_at_once` padded
 * tokens at a time, so that memory stays bounded for long prompts and many.
 */
Prefilled prefill(
    const Model& model,
    const Params& weights,
    const Params& lora,
    const std::vector<const std::vector<int32_t>*>& prompts,
    int tokens_at_once = 4096);

}  // namespace atelier
