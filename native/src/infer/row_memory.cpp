#include "infer/row_memory.h"

#include "nn/kv_cache.h"

namespace atelier {

uint64_t decode_row_bytes(const Model& model, int tokens, mx::Dtype dtype) {
  const uint64_t layers = model.config().layers;
  const uint64_t slot = model.row_numbers().cached_token * dtype.size();
  const uint64_t kept =
      slot * cache_capacity(tokens) + model.row_numbers().recurrent * sizeof(float);
  // One layer more: while a layer's slots grow, the old ones are there too.
  const uint64_t slots = kept / layers * (layers + 1);
  // f32: the logits, their log-probabilities, and what the filters sort.
  return slots + uint64_t{3} * model.config().vocabulary * sizeof(float);
}

}  // namespace atelier
