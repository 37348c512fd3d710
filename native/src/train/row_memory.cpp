#include "train/row_memory.h"

namespace atelier {

uint64_t training_row_bytes(const RowNumbers& row, int length, mx::Dtype dtype) {
  uint64_t token = row.kept_token;
  if (mx::default_device() == mx::Device::cpu) {
    token += row.kept_pair * length;  // attention's weights
  }
  return token * length * dtype.size();
}

}  // namespace atelier
