#pragma once

#include "train/forward.h"

#include <atomic>

namespace atelier {

struct ScoreOptions {
  float temperature = 1.0f;
  bool entropy = false;
  /** Padded tokens forwarded at once at most. */
  int micro_tokens = 8192;
};

struct Scores {
  /** [T] */
  std::vector<float> logp;
  /** [T] in nats, empty where not asked for. */
  std::vector<float> entropy;
};

/** log p (and entropy) of every target, without gradient. Checks `cancelled` between micro-batches. */
Scores score(
    const Model& model,
    const Bound& bound,
    const Rows& rows,
    const ScoreOptions& options,
    const std::atomic<bool>& cancelled);

}  // namespace atelier
