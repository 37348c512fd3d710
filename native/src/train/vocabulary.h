#pragma once

#include "nn/weight.h"

#include <functional>

namespace atelier {

/** One number a target from its logits [C, V] (f32), and its gradient by them. Lazy. */
struct TokenValue {
  mx::array value_C, by_logits_CV;
};

/** `from`, `to`: which targets the chunk is. */
using TokenFunction = std::function<TokenValue(const mx::array& logits_CV, int from, int to)>;

struct VocabularyOptions {
  /** Targets whose logits exist at one time. */
  int chunk = 256;
  /** The head's weight gets a gradient too. */
  bool train_head = false;
  /** False: nothing will be differentiated. */
  bool gradient = true;
};

/**
 * `of` each target, f32 [T], from final hidden states, without ever holding more than `chunk` rows of logits: neither
 * forward nor backward. hidden_TD and head_VD may have any float type, a frozen head may be
 * quantised.
 */
mx::array over_vocabulary(
    const mx::array& hidden_TD,
    const Weight& head_VD,
    const VocabularyOptions& options,
    const TokenFunction& of);

/** Mean over the vocabulary of log p. */
TokenValue mean_logp(const mx::array& logits_CV);
/** Mean over the vocabulary of the logits, f32 [T], from hidden_TD in f32: without logits, for it is linear in the hidden state. */
mx::array mean_logit(const mx::array& hidden_TD, const Weight& head_VD);
/** log of the sum over the vocabulary of p squared; its gradient is left out (0). */
TokenValue log_sum_sq_probs(const mx::array& logits_CV);
/** 1 where the most probable token is the target; no gradient. */
TokenValue is_correct(const mx::array& logits_CV, const mx::array& targets_C);

}  // namespace atelier
