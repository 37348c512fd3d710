#pragma once

#include "core/mlx.h"
#include "models/model.h"

#include <cstdint>

namespace atelier {

/**
 * Bytes that the backward of one row of `length` input tokens keeps at least, on the default device: all layers'
 * activations, or, where they are made again (`recompute`), what went into each layer and the activations of one.
 */
uint64_t training_row_bytes(const Model& model, int length, mx::Dtype dtype, bool recompute);

}  // namespace atelier
