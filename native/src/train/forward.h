#pragma once

#include "train/rows.h"
#include "train/trainable.h"

namespace atelier {

/**
 * Final hidden states at a micro-batch's input positions [T, D], in the order of the batch: padding ends here, heads
 * and everything after them see real positions only. Lazy and differentiable. `router_logits` as Model::hidden.
 */
mx::array forward_hidden(
    const Model& model,
    const Bound& bound,
    const PaddedBatch& batch,
    std::vector<mx::array>* router_logits = nullptr);

/** Bytes of one chunk of f32 logits, and how lengths are bucketed, on the default device. */
size_t chunk_bytes();
Buckets training_buckets();

}  // namespace atelier
