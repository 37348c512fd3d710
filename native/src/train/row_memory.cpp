#include "train/row_memory.h"

namespace atelier {

uint64_t training_row_bytes(const ModelConfig& config, int length, mx::Dtype dtype) {
  const uint64_t heads = uint64_t{1} * config.heads * config.head_dim;
  const uint64_t qkv = heads + uint64_t{2} * config.kv_heads * config.head_dim;
  // Of each layer: what both norms take and give; q, k, v before and after the rotation; attention; gate, up and
  // their product.
  uint64_t token =
      uint64_t{4} * config.hidden + 2 * qkv + heads + uint64_t{3} * config.intermediate;
  if (mx::default_device() == mx::Device::cpu) {
    token += uint64_t{1} * config.heads * length;  // attention's weights
  }
  return token * length * config.layers * dtype.size();
}

}  // namespace atelier
