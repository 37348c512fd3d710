#pragma once

#include "core/mlx.h"

#include <cstdint>
#include <vector>

namespace atelier {

/**
 * What a row's own tokens change in its logits before a draw, in the order of the members. Repetition, n-grams and
 * the least length are transformers' processors (5.24.0); presence and frequency are vLLM's penalties (0.33.0).
 */
struct Penalties {
  /** Logits of tokens of prompt and answer, divided by it where above 0, else multiplied. 1 is off. */
  float repetition = 1;
  /** Off the logits of the answer's tokens: for each time, and once. 0 is off. */
  float frequency = 0;
  float presence = 0;
  /** No sequence of so many tokens comes twice in prompt and answer. 0 is off. */
  int no_repeat_ngram = 0;
  /** Tokens of the answer before which it does not stop. 0 is off. */
  int min_new_tokens = 0;

  bool any() const {
    return repetition != 1 || frequency != 0 || presence != 0 || no_repeat_ngram > 0 ||
           min_new_tokens > 0;
  }
};

/** A row's tokens so far; the arrays are the caller's. */
struct History {
  const std::vector<int32_t>* prompt;
  const std::vector<int32_t>* answer;
};

/** The logits f32 [B, V] that are drawn from, one history a row. */
mx::array penalised(
    const mx::array& logits_BV,
    const Penalties& penalties,
    const std::vector<History>& rows,
    const std::vector<int32_t>& stop_ids);

}  // namespace atelier
