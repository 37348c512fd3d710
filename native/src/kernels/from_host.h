#pragma once

#include "core/mlx.h"

#include <cstdint>
#include <vector>

namespace atelier {

/**
 * Numbers of the host as an array of this shape, int32 or f32. On CUDA they are sent between the launches: an array that
 * MLX itself makes of them lies in memory of both, where the GPU waits for each page, and may wait for all launches
 * before it is made.
 */
mx::array from_host(std::vector<int32_t> values, const mx::Shape& shape);
mx::array from_host(std::vector<float> values, const mx::Shape& shape);

}  // namespace atelier
