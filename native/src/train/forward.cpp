#include "train/forward.h"

namespace atelier {

mx::array forward_hidden(
    const Model& model,
    const Bound& bound,
    const PaddedBatch& batch,
    std::vector<mx::array>* router_logits) {
  auto hidden =
      model.hidden(bound.weights, bound.lora, batch.ids_BL, nullptr, std::nullopt, router_logits);
  return mx::take(mx::reshape(hidden, {-1, hidden.shape(-1)}), batch.at_T, 0);
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
