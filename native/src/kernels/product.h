#pragma once

#include "kernels/primitive.h"

namespace atelier {

/** x [..., in] times wᵀ, w [out, in]. */
mx::array product_plain(const mx::array& x, const mx::array& w);
/** The same on several threads, forward and backward. f32 on the CPU, where has_blas(). */
mx::array product_cpu(const mx::array& x, const mx::array& w);
/** g [..., out] -> g W [..., in], the gradient by x. No gradient of its own. */
mx::array product_back_cpu(const mx::array& g, const mx::array& w);

/**
 * Operands in f16 or bf16, y in f32: what a vocabulary's logits want, whose rounding to bf16 moves log p by 0.014. On
 * CUDA through cuBLASLt; no gradient. Its twin is product_plain of f32 operands.
 */
mx::array product_f32_gpu(const mx::array& x, const mx::array& w);
bool product_f32_fits_gpu(const mx::array& x, const mx::array& w);

}  // namespace atelier
