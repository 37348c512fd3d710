#pragma once

#include "kernels/primitive.h"

#include <cstdint>

namespace atelier {

/**
 * The numbers of a contiguous vector from `start` on, in this shape; none is copied. No gradient: many slices of one
 * vector would each have one of the vector's size, so join(gradients) is for whoever differentiates by the views.
 */
mx::array view(const mx::array& vector, int64_t start, const mx::Shape& shape);

/** Arrays end to end in one vector, the first at 0, each at its start (ascending); 0 between them and up to `size`. */
mx::array join(const Arrays& parts, const std::vector<int64_t>& starts, int64_t size);

}  // namespace atelier
