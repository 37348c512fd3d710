#pragma once

#include "kernels/primitive.h"

#include <cstdint>
#include <vector>

namespace atelier {

/**
 * A matrix [rows, columns] at `from` in one vector, which stands, times `scale`, from column `at` on in rows of `width`
 * numbers at `to` in another; the rest of those rows is 0.
 */
struct Tile {
  int64_t from, to;
  int rows, columns, width, at;
  float scale;
};

/** Tiles in the order of `to`, whose rows fill [0, size) of the other vector. */
struct Tiles {
  explicit Tiles(std::vector<Tile> tiles);

  std::vector<Tile> all;
  /** Numbers of the other vector, and of all matrices. */
  int64_t size = 0, taken = 0;
  /** The tiles as a kernel reads them, int32 [tiles, 7]. */
  mx::array table;
};

/** The other vector, in `dtype`, from the one (f32). */
mx::array place_tiles_plain(const mx::array& from, const Tiles& tiles, mx::Dtype dtype);
/** Its transpose: from gradients by the other vector those by the one, f32, whose numbers all are in one tile each. */
mx::array take_tiles_plain(const mx::array& other, const Tiles& tiles);

/** The same in one pass. f32 on the CPU. */
mx::array place_tiles_cpu(const mx::array& from, const Tiles& tiles);
mx::array take_tiles_cpu(const mx::array& other, const Tiles& tiles);

/** On CUDA, for vectors of fewer than 2^31 numbers. */
mx::array place_tiles_gpu(const mx::array& from, const Tiles& tiles, mx::Dtype dtype);
mx::array take_tiles_gpu(const mx::array& other, const Tiles& tiles);
bool tiles_fit_gpu(const mx::array& vector, const Tiles& tiles);

}  // namespace atelier
