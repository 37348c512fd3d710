#pragma once

#include "core/modules.h"
#include "kernels/tiles.h"

#include <optional>
#include <string>
#include <vector>

namespace atelier {

/**
 * What stack_lora (nn/lora.h) makes of an adapter's A and B, between two vectors: one that holds the parameters end to
 * end in the order of their names (core/modules.h), and one that holds the stacked matrices end to end.
 */
struct LoraLayout {
  /** `<product>.A` [R, in] and `<product>.B` [out, R], with the number of experts before where there are some. */
  struct Matrix {
    std::string name;
    mx::Shape shape;
    /** Where it begins in the second vector; products want addresses that are multiples of 256 bytes. */
    int64_t at;
  };
  /** In the order of the second vector, and of Params. */
  std::vector<Matrix> stacked;
  /** From the first vector to the second. */
  Tiles tiles;
};

/** Absent where it takes more than moving numbers: DoRA, or two adapted modules that share rows of their product. */
std::optional<LoraLayout> lora_layout(
    const std::vector<LinearModule>& modules,
    const LoraSites& sites);

}  // namespace atelier
