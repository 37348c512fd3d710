#pragma once

#include "kernels/gpu/kernel.h"

#include <doctest/doctest.h>

namespace atelier::testing {

/** For tests of CUDA's kernels: `TEST_CASE("gpu ..." * on_gpu)`, which the runner counts as skipped elsewhere. */
inline const auto on_gpu = doctest::skip(!gpu_kernels_for(mx::array(0.0f)));

}  // namespace atelier::testing
