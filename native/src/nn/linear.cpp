#include "nn/linear.h"

#include "kernels/lora_product.h"
#include "kernels/lora_sum.h"
#include "kernels/thin_product.h"
#include "nn/lora_linear.h"
#include "nn/stacking.h"

namespace atelier {
namespace {

// In parts: its modules are stored differently.
bool in_parts(const Params& weights, const std::string& name) {
  return weights.count(part_name(name, 1) + ".weight") > 0;
}

mx::array base_product(const Params& weights, const std::string& name, const mx::array& x) {
  const int in = x.shape(-1);
  mx::array y = weight_of(weights, name, in).times(x);
  if (!in_parts(weights, name)) {
    return y;
  }
  std::vector<mx::array> parts{y};
  for (int k = 1; weights.count(part_name(name, k) + ".weight"); k++) {
    parts.push_back(weight_of(weights, part_name(name, k), in).times(x));
  }
  return mx::concatenate(parts, -1);
}

// (onto +) x Wᵀ + (x Aᵀ) Bᵀ. With `onto` the product is not in parts.
mx::array with_lora(
    const std::optional<mx::array>& onto,
    const Params& weights,
    const Params& lora,
    const std::string& name,
    const mx::array& x) {
  const Weight w = weight_of(weights, name, x.shape(-1));
  auto found = lora.find(name + ".A");
  if (!w.quantised() && !in_parts(weights, name)) {
    ThinProduct thin{x, w.floats(), onto};
    if (found != lora.end()) {
      thin.lora = {found->second, lora.at(name + ".B")};
    }
    if (thin_product_fits_gpu(thin)) {
      return thin_product_gpu(thin);
    }
  }
  if (found == lora.end()) {
    return onto ? w.times_onto(*onto, x) : base_product(weights, name, x);
  }
  const mx::array &a = found->second, &b = lora.at(name + ".B");
  const bool differentiated = x.is_tracer() || a.is_tracer();
  if (differentiated && !in_parts(weights, name) && lora_linear_fits(w, a, x)) {
    return lora_linear(onto, w, a, b, x);
  }
  if (!w.quantised() && !in_parts(weights, name) && cpu_kernels_for(x) && !w.floats().is_tracer()) {
    return lora_product_cpu({x, w.floats(), a, b, onto});
  }
  if (auto joined = lora.find(name + ".WA"); joined != lora.end()) {
    const LoraSum sum{product(x, joined->second), std::nullopt, b, onto};
    if (lora_sum_fits_gpu(sum)) {
      return lora_sum_gpu(sum);
    }
  }
  const mx::array y = onto ? w.times_onto(*onto, x) : base_product(weights, name, x);
  const LoraSum sum{y, product(x, a), b};
  return lora_sum_fits_gpu(sum) ? lora_sum_gpu(sum) : Weight(b).times_onto(y, *sum.h);
}

}  // namespace

mx::array product(const mx::array& x, const mx::array& w) {
  return Weight(w).times(x);
}

mx::array
linear(const Params& weights, const Params& lora, const std::string& name, const mx::array& x) {
  mx::array y = with_lora(std::nullopt, weights, lora, name, x);
  if (auto gain = lora.find(name + ".gain"); gain != lora.end()) {
    y = y * gain->second;
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
  if (in_parts(weights, name) || lora.count(name + ".gain") || weights.count(name + ".bias")) {
    return residual + linear(weights, lora, name, x);
  }
  return with_lora(residual, weights, lora, name, x);
}

mx::array
embedding(const Params& weights, const std::string& name, const mx::array& ids, int width) {
  return weight_of(weights, name, width).rows(ids);
}

}  // namespace atelier
