#pragma once

#include "kernels/primitive.h"

namespace atelier {

/**
 * silu of a causal convolution of each channel by itself: y[b, l, c] = silu(sum over j of w[c, j] x[b, l + j, c]).
 * x [B, W - 1 + L, C]: the W - 1 positions before the first, then L; w [C, W]; y [B, L, C]. transformers 5.24.0,
 * causal_conv1d_fn.
 */
mx::array short_conv_plain(const mx::array& x, const mx::array& w);
/** The same in one pass each way. f32 on the CPU. */
mx::array short_conv_cpu(const mx::array& x, const mx::array& w);

}  // namespace atelier
