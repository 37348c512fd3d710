#include "nn/linear.h"

#include "nn/stacking.h"

namespace atelier {
namespace {

mx::array base_product(const Params& weights, const std::string& name, const mx::array& x) {
  const int in = x.shape(-1);
  mx::array y = weight_of(weights, name, in).times(x);
  if (weights.count(part_name(name, 1) + ".weight") == 0) {
    return y;
  }
  std::vector<mx::array> parts{y};
  for (int k = 1; weights.count(part_name(name, k) + ".weight"); k++) {
    parts.push_back(weight_of(weights, part_name(name, k), in).times(x));
  }
  return mx::concatenate(parts, -1);
}

}  // namespace

mx::array product(const mx::array& x, const mx::array& w) {
  return Weight(w).times(x);
}

mx::array
linear(const Params& weights, const Params& lora, const std::string& name, const mx::array& x) {
  mx::array y = base_product(weights, name, x);
  if (auto a = lora.find(name + ".A"); a != lora.end()) {
    y = Weight(lora.at(name + ".B")).times_onto(y, product(x, a->second));
    if (auto gain = lora.find(name + ".gain"); gain != lora.end()) {
      y = y * gain->second;
    }
  }
  auto bias = weights.find(name + ".bias");
  return bias == weights.end() ? y : y + bias->second;
}

mx::array linear_onto(
    const mx::array& residual,
    const Params& weights,
    const Params& lora,
    const std::string& name,
    const mx::array& x) {
  const bool whole = weights.count(part_name(name, 1) + ".weight") == 0;
  if (!whole || lora.count(name + ".gain") || weights.count(name + ".bias")) {
    return residual + linear(weights, lora, name, x);
  }
  const mx::array y = weight_of(weights, name, x.shape(-1)).times_onto(residual, x);
  auto a = lora.find(name + ".A");
  return a == lora.end() ? y : Weight(lora.at(name + ".B")).times_onto(y, product(x, a->second));
}

mx::array
embedding(const Params& weights, const std::string& name, const mx::array& ids, int width) {
  return weight_of(weights, name, width).rows(ids);
}

}  // namespace atelier
