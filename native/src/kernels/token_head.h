#pragma once

#include "kernels/primitive.h"

#include <optional>

namespace atelier {

/** What one chunk of logits [C, V] (f32) and its targets [C] (int32) give; f32 [C], p [C, V] where asked for. */
struct TokenHead {
  /** logp of the target, log-sum-exp, entropy in nats. Lazy: what is not used is not made by the plain ops. */
  mx::array logp, lse, entropy;
  std::optional<mx::array> p;
  /** f32 [C]: what each row of p is still to be multiplied by, where that is not 1. */
  std::optional<mx::array> p_scale = std::nullopt;
};

TokenHead token_head_plain(const mx::array& logits, const mx::array& targets, bool with_p);
/** The same in one pass. f32 on the CPU. */
TokenHead token_head_cpu(const mx::array& logits, const mx::array& targets, bool with_p);
/** On CUDA; p, where its type is given, in that type. */
TokenHead
token_head_gpu(const mx::array& logits, const mx::array& targets, std::optional<mx::Dtype> p_type);
bool token_head_fits_gpu(const mx::array& logits);

/**
 * Gradient by the logits, d [C, V], from the cotangents of logp and, where given, of the entropy:
 * d = g (onehot - p) - g_entropy p (log p + entropy).
 */
struct TokenHeadCotangents {
  mx::array logp;
  std::optional<mx::array> entropy;
};
mx::array token_head_backward_plain(
    const mx::array& logits,
    const mx::array& targets,
    const TokenHead& forward,
    const TokenHeadCotangents& g);
mx::array token_head_backward_cpu(
    const mx::array& logits,
    const mx::array& targets,
    const TokenHead& forward,
    const TokenHeadCotangents& g);

}  // namespace atelier
