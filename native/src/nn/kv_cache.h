#pragma once

#include "core/mlx.h"
#include "kernels/attention.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace atelier {

/**
 * What all layers keep of the tokens before: keys and values, or a recurrence's state. Every row writes its next
 * token into the same slot; a row that is shorter than the longest begins later: its slots before `start` hold
 * nothing. So a step writes one contiguous slice, and rows of any age share a batch.
 */
struct KvCache {
  struct Layer {
    /** [B, Hkv, capacity, D]; keys are already rotated. Absent before the first write. */
    std::optional<mx::array> k, v;
    /** Of linear attention: its state behind the last token, f32 [B, H, D, E] (kernels/gated_delta.h). */
    std::optional<mx::array> state;
    /** And what its convolution reads of the last tokens, [B, W - 1, C]. */
    std::optional<mx::array> tail;
  };

  KvCache() = default;
  KvCache(int layers, std::vector<int32_t> start);

  std::vector<Layer> layers;
  /** Slots written, the same for all rows. */
  int length = 0;
  /** First slot of each row [B]; the position of slot s in row b is s - start[b]. */
  std::vector<int32_t> start;
  /** Rows of one number hold the same in the slots before `alike_until` [B]: they are copies (take_rows) of one. */
  std::vector<int32_t> origin;
  std::vector<int32_t> alike_until;

  int rows() const {
    return static_cast<int>(start.size());
  }
  /** DecodeRows of the rows as they are, whose next token goes into `slot`. */
  DecodeRows decode_rows(mx::array slot) const;
  /** Everything that has been written. */
  std::vector<mx::array> arrays() const;
  /** Some row begins after slot 0, so slots need to be masked. */
  bool ragged() const;
  /** Of the next L tokens, int32 [B, L], or [1, L] where all rows share them. */
  mx::array positions(int L) const;

  /** Moves `length` on by L. */
  void advance(int L);

  /**
   * Where steps of one token are recorded (kernels/gpu/replay.h), what changes between them is an array: the slot that
   * the next token goes into (`length`), beside `start` and who shares what. Absent: the numbers above are used.
   */
  std::optional<DecodeRows> on_device;
  /** Slots to allocate at least whenever the slots are allocated anew. */
  int reserve = 0;

  int capacity(int length) const;
};

/** Slots to allocate for `length` of them: few sizes, so that shapes repeat. */
int cache_capacity(int length);

/** The given rows (repeats allowed), without the slots that all of them leave empty. */
KvCache take_rows(const KvCache& cache, const std::vector<int32_t>& rows);

/** Rows of all caches in one, their last slots side by side. */
KvCache join_rows(const std::vector<KvCache>& caches);

}  // namespace atelier
