#pragma once

#include "core/mlx.h"

namespace atelier {

/** An array on the GPU whose numbers are anything; for primitives that write into it. */
mx::array empty_gpu(const mx::Shape& shape, mx::Dtype dtype);

}  // namespace atelier
