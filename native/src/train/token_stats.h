#pragma once

#include "nn/weight.h"

#include <optional>

namespace atelier {

/** How token statistics are made from hidden states. */
struct HeadOptions {
  /** Targets whose logits exist at one time. */
  int chunk = 256;
  /** Logits are divided by it. */
  float temperature = 1.0f;
  /** The head's weight gets a gradient too. */
  bool train_head = false;
  bool entropy = false;
  /** The entropy is differentiable; otherwise it is a number to look at. */
  bool entropy_gradient = false;
  /** False: nothing will be differentiated. */
  bool gradient = true;
};

/** f32 [T] each; entropy in nats, present where it was asked for. */
struct TokenStats {
  mx::array logp;
  std::optional<mx::array> entropy;
};

/**
 * log p of each target token and the entropy of its distribution, from final hidden states, without ever
 * holding more than `chunk` rows of logits: neither forward nor backward.
 *
 * hidden_TD and head_VD may have any float type, a frozen head may be quantised; logits are made in
 * f32, on CUDA from half-precision operands as they are, and the products with p then take p in that type. targets_T is
 * int32.
 */
TokenStats token_stats(
    const mx::array& hidden_TD,
    const Weight& head_VD,
    const mx::array& targets_T,
    const HeadOptions& options);

/** As many rows as keep one chunk's logits at or under `bytes`; at least 16. */
int head_chunk(int vocabulary, size_t bytes);

}  // namespace atelier
