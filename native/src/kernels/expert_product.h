#pragma once

#include "kernels/primitive.h"

namespace atelier {

/**
 * x [M, in] times the transpose of each row's own matrix of w [E, out, in]: row m takes w[expert_M[m]]. expert_M
 * (int32) ascends.
 */
mx::array expert_product_plain(const mx::array& x, const mx::array& w, const mx::array& expert_M);
/** The same, an expert's rows at a time on several threads, forward and backward. f32 on the CPU, where has_blas(). */
mx::array expert_product_cpu(const mx::array& x, const mx::array& w, const mx::array& expert_M);

}  // namespace atelier
