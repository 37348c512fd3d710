#pragma once

#include "train/rows.h"
#include "train/trainable.h"

#include <optional>

namespace atelier {

/**
 * NEFTune (Jain et al., arXiv 2310.05914): uniform noise in +-alpha / sqrt(L D) on the embeddings of a row of L input
 * tokens. A function of (seed, row of the request) alone.
 */
struct EmbeddingNoise {
  double alpha;
  uint64_t seed;
};

struct ForwardOptions {
  /** The backward makes each layer's activations again from its input. */
  bool recompute = false;
  std::optional<EmbeddingNoise> noise = std::nullopt;
};

/**
 * Final hidden states at a micro-batch's input positions [T, D], in the order of the batch: padding ends here, heads
 * and everything after them see real positions only. Lazy and differentiable. `router_logits` as Model::hidden.
 */
mx::array forward_hidden(
    const Model& model,
    const Bound& bound,
    const PaddedBatch& batch,
    const ForwardOptions& options = {},
    std::vector<mx::array>* router_logits = nullptr);

/** Bytes of one chunk of f32 logits, and how lengths are bucketed, on the default device. */
size_t chunk_bytes();
Buckets training_buckets();

}  // namespace atelier
