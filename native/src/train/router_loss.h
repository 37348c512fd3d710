#pragma once

#include "core/mlx.h"

#include <vector>

namespace atelier {

// The load-balancing loss of a mixture of experts (Fedus et al., "Switch Transformers", 2021, eq. 4; transformers
// 5.24.0, load_balancing_loss_func): E sum_e F_e P_e over all tokens of all layers, F_e being how often an expert was
// chosen by a token, P_e its mean probability. Only P has a gradient. With F known of the whole step, the loss is a
// sum over tokens, however these are split. N tokens, E experts.

/** How the tokens of a whole step used the experts. */
struct ExpertUse {
  /** F, f32 [E]. */
  mx::array share_E;
  double tokens = 0;
};

/** The same before it is divided; empty where nothing was counted. */
struct ExpertCounts {
  std::vector<float> chosen_E;
  double tokens = 0, layers = 0;
};

/** How often the tokens at `at_N` of each layer's router logits [B L, E] chose each expert, f32 [E]. */
mx::array
expert_counts(const std::vector<mx::array>& router_logits, const mx::array& at_N, int chosen);

/** What each of the tokens at `at_N` adds to the step's loss, f32 [N]. */
mx::array router_loss(
    const std::vector<mx::array>& router_logits,
    const mx::array& at_N,
    const ExpertUse& use);

}  // namespace atelier
