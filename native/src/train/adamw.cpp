#include "train/adamw.h"

#include <algorithm>
#include <cmath>

namespace atelier {

AdamWState adamw_state(const std::vector<mx::array>& parameters) {
  AdamWState state;
  for (const auto& p : parameters) {
    state.m.push_back(mx::zeros(p.shape(), mx::float32));
    state.v.push_back(mx::zeros(p.shape(), mx::float32));
  }
  return state;
}

mx::array global_norm(const std::vector<mx::array>& gradients) {
  std::vector<mx::array> squares;
  for (const auto& g : gradients) {
    squares.push_back(mx::sum(mx::square(mx::astype(g, mx::float32))));
  }
  return mx::sqrt(mx::sum(mx::stack(squares)));
}

double clip_coefficient(double norm, double max_norm) {
  return std::min(1.0, max_norm / (norm + 1e-6));
}

std::vector<mx::array> adamw_update(
    const AdamWSpec& spec,
    const std::vector<mx::array>& parameters,
    const std::vector<mx::array>& gradients,
    double learning_rate,
    double gradient_scale,
    AdamWState& state) {
  auto scalar = [](double x) { return mx::array(static_cast<float>(x)); };
  state.steps += 1;
  double steps = static_cast<double>(state.steps);
  double correction1 = 1 - std::pow(spec.beta1, steps);
  double correction2 = 1 - std::pow(spec.beta2, steps);
  std::vector<mx::array> result;
  for (size_t i = 0; i < parameters.size(); i++) {
    auto g = mx::astype(gradients[i], mx::float32);
    if (gradient_scale != 1.0) {
      g = g * scalar(gradient_scale);
    }
    state.m[i] = state.m[i] * scalar(spec.beta1) + g * scalar(1 - spec.beta1);
    state.v[i] = state.v[i] * scalar(spec.beta2) + mx::square(g) * scalar(1 - spec.beta2);
    auto root = mx::sqrt(state.v[i]) * scalar(1 / std::sqrt(correction2)) + scalar(spec.epsilon);
    auto kept = parameters[i] * scalar(1 - learning_rate * spec.weight_decay);
    result.push_back(kept - state.m[i] / root * scalar(learning_rate / correction1));
  }
  return result;
}

}  // namespace atelier
