#pragma once

#include "core/mlx.h"

#include <vector>

namespace atelier {

/** Applied in this order, as transformers' logits processors (5.24.0): temperature, top-k, top-p, min-p. */
struct Sampling {
  /** 0 is greedy: the filters then do nothing. */
  float temperature = 1.0f;
  /** 0 is off. */
  int top_k = 0;
  /** 1 is off. */
  float top_p = 1.0f;
  /** 0 is off. */
  float min_p = 0.0f;
};

struct Draw {
  /** int32 [B]. */
  mx::array token;
  /** f32 [B]: of the token under the distribution drawn from; and at temperature 1, unfiltered. */
  mx::array logprob, raw_logprob;
};

/** Log-probabilities [B, V] that a draw is made from; -inf where filtered. Not for temperature 0. */
mx::array filtered_logprobs(const mx::array& logits_BV, const Sampling& sampling);

/** One token a row by inverting the cumulative distribution at uniform_B (f32 [B] in [0, 1), random_uniform). */
Draw sample(const mx::array& logits_BV, const Sampling& sampling, const mx::array& uniform_B);

}  // namespace atelier
