#include "models/parts/recurrent.h"

#include "core/error.h"

namespace atelier {

uint64_t recurrent_numbers(int heads, int key_dim, int value_dim, int channels, int width) {
  return uint64_t{1} * heads * key_dim * value_dim + uint64_t{1} * channels * (width - 1);
}

KvCache::Layer* recurrent_past(const Model::Pass& pass, int index) {
  if (pass.visible.mask) {
    throw Error(
        ErrorCode::invalid_argument,
        "several sequences in one row (packing) do not go with linear attention",
        "Turn packing off for this model.");
  }
  return pass.cache ? &pass.cache->layers.at(index) : nullptr;
}

}  // namespace atelier
