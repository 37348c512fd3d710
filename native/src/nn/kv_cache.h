#pragma once

#include "core/mlx.h"

#include <optional>
#include <vector>

namespace atelier {

/**
 * Keys and values of all layers. Every row writes its next token into the same slot; a row that is shorter
 * than the longest begins later: its slots before `start_B` hold nothing. So a step writes one contiguous
 * slice, and rows of any age share a batch.
 */
struct KvCache {
  struct Layer {
    /** [B, Hkv, capacity, D]; keys are already rotated. Absent before the first write. */
    std::optional<mx::array> k, v;
  };

  std::vector<Layer> layers;
  /** Slots written, the same for all rows. */
  int length = 0;
  /** First slot of each row, int32 [B]; the position of slot s in row b is s - start_B[b]. */
  mx::array start_B;
  /** False where every row begins at slot 0: then nothing needs to be masked. */
  bool ragged = false;
};

} // namespace atelier
