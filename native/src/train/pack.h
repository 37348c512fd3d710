#pragma once

#include <vector>

namespace atelier {

/**
 * Items by line, each line's lengths adding up to `capacity` at most: longest item first, each into the line with the
 * least room that takes it, the one opened first where several have the same (trl 1.16.0 pack_dataset, "bfd"; items
 * of the same length in their order). No item may be longer than `capacity`.
 */
std::vector<std::vector<int>> best_fit_decreasing(const std::vector<int>& lengths, int capacity);

}  // namespace atelier
