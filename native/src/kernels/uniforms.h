#pragma once

#include "core/random.h"
#include "kernels/primitive.h"

namespace atelier {

/** random_uniform (core/random.h) on CUDA: index_a, index_b int32 [N], seed int32 [2], its low and high half. */
mx::array uniforms_gpu(
    const mx::array& seed,
    Stream stream,
    const mx::array& index_a,
    const mx::array& index_b);

}  // namespace atelier
