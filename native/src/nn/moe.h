#pragma once

#include "core/params.h"

#include <string>

namespace atelier {

// A mixture of experts: a router sends each token to a few of many MLPs. N tokens, K experts of each token,
// E experts in all.

/** Where a router sends tokens. */
struct Routing {
  /** int32 [N, K], different ones in each row. */
  mx::array experts_NK;
  /** f32 [N, K]: what each expert's output is multiplied by. */
  mx::array shares_NK;
};

/**
 * The K most probable experts under softmax of the router's logits [N, E] (f32), their probabilities as shares;
 * `normalise` divides these by their sum (norm_topk_prob). transformers 5.24.0, Qwen3MoeTopKRouter.
 */
Routing softmax_routing(const mx::array& logits_NE, int chosen, bool normalise);

struct GroupedRouting {
  /** Experts stand in groups of one size, of which the best `chosen_groups` are chosen among. */
  int groups, chosen_groups, chosen;
  /** Shares are divided by their sum. */
  bool normalise;
  /** And then multiplied by it. */
  float factor;
};

/**
 * The K experts with the highest sigmoid of the router's logits [N, E] (f32) plus `bias` [E], within the groups whose
 * two highest add up to most; shares are the sigmoids without the bias. transformers 5.24.0, DeepseekV3TopkRouter.
 */
Routing
grouped_routing(const mx::array& logits_NE, const mx::array& bias_E, const GroupedRouting& routing);

/**
 * What the experts give together: the sum over a token's experts of share * down(swiglu(gate_up(x))), [N, D].
 *
 * `weights` holds `<name>.gate_up_proj.weight` [E, 2F, D] (gate first) and `<name>.down_proj.weight` [E, D, F];
 * `lora` what stack_lora made for them.
 */
mx::array experts_mlp(
    const Params& weights,
    const Params& lora,
    const std::string& name,
    const mx::array& x_ND,
    const Routing& routing);

}  // namespace atelier
