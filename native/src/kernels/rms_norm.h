#pragma once

#include "kernels/primitive.h"

namespace atelier {

/** x / sqrt(mean(x²) + eps) * w over the last axis (Zhang and Sennrich, 2019). */
mx::array rms_norm_plain(const mx::array& x, const mx::array& w, float eps);
/** The same in one pass, with a backward in one pass. f32 on the CPU. */
mx::array rms_norm_cpu(const mx::array& x, const mx::array& w, float eps);
/** The same on CUDA; the backward makes the weight's gradient only where it is wanted. */
mx::array rms_norm_gpu(const mx::array& x, const mx::array& w, float eps);
/** x itself beside it: where both go on, the gradients by them meet in the norm's backward. */
struct NormBranch {
  mx::array x, normed;
};
NormBranch rms_norm_branch_cpu(const mx::array& x, const mx::array& w, float eps);
NormBranch rms_norm_branch_gpu(const mx::array& x, const mx::array& w, float eps);
/** Of rms_norm_gpu's result (gpu/kernel.h): inputs x, w. */
struct NormRecipe {
  float eps;
};
bool rms_norm_fits_gpu(const mx::array& x, const mx::array& w);

}  // namespace atelier
