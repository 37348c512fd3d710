#pragma once

#include "core/mlx.h"
#include "models/model.h"

#include <cstdint>

namespace atelier {

/** Bytes that the backward of one row of `length` input tokens keeps at least, on the default device. */
uint64_t training_row_bytes(const RowNumbers& row, int length, mx::Dtype dtype);

}  // namespace atelier
