#pragma once

#include "train/rows.h"
#include "train/token_stats.h"
#include "train/trainable.h"

namespace atelier {

/** log p and entropy of a micro-batch's targets, [T] in the order of the batch. Lazy and differentiable. */
TokenStats forward_stats(
    const Model& model,
    const Bound& bound,
    const PaddedBatch& batch,
    HeadOptions options);

/** Bytes of one chunk of f32 logits, and how lengths are bucketed, on the default device. */
size_t chunk_bytes();
Buckets training_buckets();

}  // namespace atelier
