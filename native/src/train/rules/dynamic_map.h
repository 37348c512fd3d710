#pragma once

#include "core/mlx.h"

#include <array>

namespace atelier {

/** Numbers of a block share one scale. */
constexpr int block_size = 256;

/**
 * The 256 values of bitsandbytes' dynamic map, ascending (functional.create_dynamic_map):
 * of seven decades up to 1, each has twice the values of the one below. Signed, 0 is at 127.
 */
const std::array<float, 256>& dynamic_map(bool is_signed);

/** A flat array in blocks: code of each number, uint8 [blocks, block_size], and each block's scale, f32 [blocks, 1]. */
struct Blocks {
  mx::array codes, scales;
};

/** The nearest codes. Numbers beyond the array's end are 0. */
Blocks to_blocks(const mx::array& values, bool is_signed);

/** f32 of the given shape. */
mx::array from_blocks(const Blocks& blocks, bool is_signed, const mx::Shape& shape);

}  // namespace atelier
