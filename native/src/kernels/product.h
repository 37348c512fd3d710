#pragma once

#include "kernels/primitive.h"

namespace atelier {

/** x [..., in] times wᵀ, w [out, in]. */
mx::array product_plain(const mx::array& x, const mx::array& w);
/** The same on several threads, forward and backward. f32 on the CPU, where has_blas(). */
mx::array product_cpu(const mx::array& x, const mx::array& w);

}  // namespace atelier
