#pragma once

#include "core/mlx.h"
#include "infer/history.h"

#include <map>
#include <vector>

namespace atelier {

/**
 * Applied in this order, as transformers' logits processors (5.24.0): penalties, bias, temperature, top-k, top-p, min-p,
 * typical-p, epsilon.
 */
struct Sampling {
  /** 0 is greedy: the filters then do nothing. */
  float temperature = 1.0f;
  /** 0 is off. */
  int top_k = 0;
  /** 1 is off. */
  float top_p = 1.0f;
  /** 0 is off. */
  float min_p = 0.0f;
  /** Tokens whose surprise is nearest to the entropy, up to this mass (arXiv 2202.00666). 1 is off. */
  float typical_p = 1.0f;
  /** Least probability of a token other than the likeliest (arXiv 2210.15191). 0 is off. */
  float epsilon = 0.0f;
  /** Added to logits, by token; -inf: never drawn. */
  std::map<int32_t, float> bias = {};
  Penalties penalties = {};

  /** Logits change before the temperature, so a draw wants each row's history. */
  bool edits() const {
    return !bias.empty() || penalties.any();
  }
};

/** What penalties look at: a history a row, and the tokens that end one. */
struct Said {
  std::vector<History> rows;
  const std::vector<int32_t>* stop_ids;
};

struct Draw {
  /** int32 [B]. */
  mx::array token;
  /** f32 [B]: of the token under the distribution drawn from; and at temperature 1, unfiltered. */
  mx::array logprob, raw_logprob;
};

/** Logits [B, V] after penalties and bias; as they were where `sampling` has none. */
mx::array edited(const mx::array& logits_BV, const Sampling& sampling, const Said& said);

/** Log-probabilities [B, V] that a draw is made from edited logits; -inf where filtered. Not for temperature 0. */
mx::array filtered_logprobs(const mx::array& edited_BV, const Sampling& sampling);

/**
 * One token a row by inverting the cumulative distribution at uniform_B (f32 [B] in [0, 1), random_uniform). Where
 * bias and n-grams leave a row no token, its logprob is NaN.
 */
Draw sample(
    const mx::array& logits_BV,
    const Sampling& sampling,
    const mx::array& uniform_B,
    const Said& said);

}  // namespace atelier
