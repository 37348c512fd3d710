#pragma once

#include "core/mlx.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace atelier {

/** Token sequences without padding, end to end. A row of n tokens has n - 1 targets: its tokens 1..n-1. */
struct Rows {
  std::vector<int32_t> ids;
  std::vector<int32_t> lengths;

  /** Targets of each row. */
  std::vector<int32_t> targets() const;
  /** Throws invalid_argument that names `field`: empty rows, wrong sums, ids outside [0, vocabulary). */
  void check(const char* field, int vocabulary, int context) const;
};

/** Where each row's tokens and targets begin in the request's order. */
struct RowOffsets {
  std::vector<int64_t> token, target;
  explicit RowOffsets(const Rows& rows);
};

/** Rows that are forwarded at once, in lines padded on the right to `length` input tokens. */
struct MicroBatch {
  std::vector<int> rows;
  int length = 0;
  /** Packed: the line that each row lies on, end to end with its neighbours; ascending. Empty: each row its own. */
  std::vector<int> line;
};

/** How lengths are rounded up: every new shape is new kernels or a new plan on a GPU, and free on the CPU. */
struct Buckets {
  int multiple = 1;
  /** Different lengths at most. */
  int shapes = 0x7fffffff;
};

/**
 * Splits units (rows that have to stay together; each has at least one row) into micro-batches of at most
 * `max_tokens` padded tokens; a unit that is larger makes one of its own. Longest first, so that the largest
 * peak comes at once. A function of its arguments alone.
 */
std::vector<MicroBatch> plan_batches(
    const std::vector<std::vector<int>>& units,
    const std::vector<int32_t>& targets,
    int max_tokens,
    const Buckets& buckets);

/** One micro-batch as arrays. B lines, L padded length, T its targets without padding, in the order of its rows. */
struct PaddedBatch {
  /** int32 [B, L]: the rows without their last token, 0 where padded. */
  mx::array ids_BL;
  /** int32 [T]: position of each target's input token in the flattened [B * L]; ascending. */
  mx::array at_T;
  /** int32 [B * L]: the target of each position, -1 where padded. */
  mx::array target_N;
  /** int32 [T] */
  mx::array targets_T;
  /** Each target's place in the request's [T]. */
  std::vector<int64_t> place_T;
  /** Where each row's input tokens stand in the flattened [B * L]. */
  struct Piece {
    int row, at, tokens;
  };
  std::vector<Piece> pieces;
  /** int32 [B, L], packed only: tokens of one piece share a number, padding has -1. */
  std::optional<mx::array> piece_BL;
};

/**
 * The same, with whole units packed: several on one line of at most `line_tokens` input tokens (train/pack.h). A unit
 * that is longer goes as plan_batches has it.
 */
std::vector<MicroBatch> plan_packed(
    const std::vector<std::vector<int>>& units,
    const std::vector<int32_t>& targets,
    int max_tokens,
    const Buckets& buckets,
    int line_tokens);

PaddedBatch pad(const Rows& rows, const RowOffsets& offsets, const MicroBatch& batch);

}  // namespace atelier
