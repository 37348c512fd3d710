#include "train/forward.h"

namespace atelier {

TokenStats forward_stats(
    const Model& model,
    const Bound& bound,
    const PaddedBatch& batch,
    HeadOptions options) {
  if (batch.place_T.empty()) {
    auto none = mx::zeros({0}, mx::float32);
    return {none, options.entropy ? std::optional(none) : std::nullopt};
  }
  auto hidden = model.hidden(bound.weights, bound.lora, batch.ids_BL);
  int width = hidden.shape(-1);
  // Padding ends here: the head and everything after it see real targets only.
  auto hidden_TD = mx::take(mx::reshape(hidden, {-1, width}), batch.at_T, 0);
  const auto& head = model.head(bound.weights);
  options.chunk = head_chunk(head.shape(0), chunk_bytes());
  return token_stats(hidden_TD, head, batch.targets_T, options);
}

// A GPU wants large products; the CPU gains nothing beyond what keeps its two cores busy.
size_t chunk_bytes() {
  return mx::default_device() == mx::Device::cpu ? size_t{8} << 20 : size_t{256} << 20;
}

// Attention's backward on CUDA needs lengths that are multiples of 128 (cuDNN); shapes cost nothing on the CPU.
Buckets training_buckets() {
  return mx::default_device() == mx::Device::cpu ? Buckets{} : Buckets{128, 8};
}

}  // namespace atelier
