#pragma once

#include "train/quantities.h"

#include <atomic>

namespace atelier {

struct ScoreOptions {
  float temperature = 1.0f;
  /** Engine quantities by name (train/quantities.h). */
  std::vector<Wanted> wanted = {{"logp"}};
  /** Padded tokens forwarded at once at most. */
  int micro_tokens = 8192;
};

/** By name: [T], but `score` [N]. */
using Scores = std::map<std::string, std::vector<float>>;

/** Engine quantities of every row, without gradient. Checks `cancelled` between micro-batches. */
Scores score(
    const Model& model,
    const Bound& bound,
    const Rows& rows,
    const ScoreOptions& options,
    const std::optional<Teacher>& teacher,
    const std::atomic<bool>& cancelled);

}  // namespace atelier
