#include "models/parts/mlp.h"

#include "nn/linear.h"

namespace atelier {

std::vector<LinearModule> GatedMlp::modules() const {
  const std::string up = o_.at + "gate_up_proj", down = o_.at + "down_proj";
  const int D = o_.hidden, F = o_.intermediate;
  return {
      {o_.at + "gate_proj", up, D, F, 0, o_.bias},
      {o_.at + "up_proj", up, D, F, F, o_.bias},
      {down, down, F, D, 0, o_.bias}};
}

RowNumbers GatedMlp::row_numbers() const {
  // Gate, up and their product.
  return {0, uint64_t{3} * o_.intermediate, 0};
}

mx::array GatedMlp::forward(
    const Params& weights,
    const Params& lora,
    const mx::array& x_BLD,
    const Model::Pass&) const {
  return linear(weights, lora, o_.at + "down_proj", features(weights, lora, x_BLD));
}

mx::array GatedMlp::forward_onto(
    const mx::array& residual,
    const Params& weights,
    const Params& lora,
    const mx::array& x_BLD,
    const Model::Pass&) const {
  return linear_onto(residual, weights, lora, o_.at + "down_proj", features(weights, lora, x_BLD));
}

mx::array GatedMlp::features(const Params& weights, const Params& lora, const mx::array& x_BLD)
    const {
  return gated(linear(weights, lora, o_.at + "gate_up_proj", x_BLD), o_.gate);
}

}  // namespace atelier
