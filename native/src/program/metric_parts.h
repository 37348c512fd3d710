#pragma once

#include "core/mlx.h"
#include "program/node.h"

#include <vector>

namespace atelier::program {

/** [2]: the sums or extremes that a metric is made of; not differentiable. `weight` may be null. */
mx::array metric_part(const Metric& metric, const mx::array& value, const mx::array* weight);

/** The numbers of an array, evaluated. */
std::vector<float> host(const mx::array& x);

}  // namespace atelier::program
