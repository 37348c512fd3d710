#pragma once

#include "core/mlx.h"

#include <cstdint>
#include <vector>

namespace atelier {

/** torch.optim.AdamW (torch 2.15.0): f32 states, decoupled decay, bias correction. */
struct AdamWSpec {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
};

/** First and second moments in the order of the parameters, and the number of updates made. */
struct AdamWState {
  std::vector<mx::array> m, v;
  int64_t steps = 0;
};

AdamWState adamw_state(const std::vector<mx::array>& parameters);

/** sqrt of the sum of squares over all arrays, f32 scalar (torch.nn.utils.clip_grad_norm_). */
mx::array global_norm(const std::vector<mx::array>& gradients);

/**
 * One update: returns the new parameters and moves `state` on. Parameters are f32 masters; gradients are
 * multiplied by `gradient_scale` (the clip coefficient) first.
 */
std::vector<mx::array> adamw_update(
    const AdamWSpec& spec,
    const std::vector<mx::array>& parameters,
    const std::vector<mx::array>& gradients,
    double learning_rate,
    double gradient_scale,
    AdamWState& state);

/** min(1, max_norm / (norm + 1e-6)), as torch. */
double clip_coefficient(double norm, double max_norm);

}  // namespace atelier
