#include "train/row_memory.h"

namespace atelier {

uint64_t training_row_bytes(const Model& model, int length, mx::Dtype dtype, bool recompute) {
  const RowNumbers row = model.row_numbers();
  uint64_t token = row.kept_token;
  if (mx::default_device() == mx::Device::cpu) {
    token += row.kept_pair * length;  // attention's weights
  }
  if (recompute) {
    const uint64_t layers = model.config().layers;
    token = token / layers + layers * model.config().hidden;
  }
  return token * length * dtype.size();
}

}  // namespace atelier
