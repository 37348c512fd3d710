#pragma once

#include "core/mlx.h"
#include "models/model.h"

#include <cstdint>

namespace atelier {

/** Bytes of one row of at most `tokens` tokens while it is decoded: its keys and values, and what a draw is made from. */
uint64_t decode_row_bytes(const Model& model, int tokens, mx::Dtype dtype);

}  // namespace atelier
