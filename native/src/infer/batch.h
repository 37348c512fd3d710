#pragma once

#include "infer/sampler.h"
#include "kernels/gpu/replay.h"
#include "models/model.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace atelier {

/** What a row's random numbers are counted by: its rollout id, and how many tokens it has. */
struct RowDraws {
  std::vector<uint32_t> rollout;
  std::vector<uint32_t> drawn;
};

/**
 * Whether decode steps of attention alone are recorded (gpu/replay.h), not where the sampling edits logits by what the
 * rows have said, which the host knows.
 */
bool records_steps(const Sampling& sampling);

/** random_uniform of each row's next token, f32 [B]. */
mx::array uniforms(uint64_t seed, const RowDraws& rows);

/**
 * Rows that are decoded together, one token at a time. On CUDA the step is recorded when a batch begins and launched
 * as a whole after that; not where the sampling edits logits by what the rows have said, which the host knows.
 */
class Batch {
 public:
  Batch(
      const Model& model,
      const Params& weights,
      const Params& lora,
      const Sampling& sampling,
      uint64_t seed);

  /** Whether steps over such a cache are recorded; then they may be asked for before those before are evaluated. */
  bool records(const KvCache& cache) const;
  bool runs_ahead() const {
    return recorded_;
  }

  /** Rows, and the token each has said last (int32 [B]). */
  void begin(KvCache cache, mx::array last, RowDraws rows);
  /** Decodes `last` and draws the next token of every row; lazy. */
  Draw step(const Said& said);
  /** The rows as they are now. */
  KvCache cache() const;
  mx::array last() const;

 private:
  void record();

  const Model& model_;
  const Params& weights_;
  const Params& lora_;
  const Sampling& sampling_;
  uint64_t seed_;

  KvCache cache_;
  std::optional<mx::array> last_;
  RowDraws rows_;
  bool recorded_ = false;
  /** Holds the cache's arrays and `last` while it is there. */
  std::optional<Replay> replay_;
};

}  // namespace atelier
