#pragma once

#include "nn/kv_cache.h"

namespace atelier {

/**
 * silu of the causal convolution of x [B, L, C] with w [C, W], each channel by itself. `layer` holds the W - 1
 * positions before x and takes over the last of x; null: nothing lies before x.
 */
mx::array short_conv(const mx::array& x_BLC, const mx::array& w_CW, KvCache::Layer* layer);

/**
 * The gated delta rule (kernels/gated_delta.h) on q, k [B, L, Hk, D], each head divided by its length
 * (sqrt(sum of squares + 1e-6)) and q by sqrt(D), v [B, L, H, E], the decay's logarithm [B, L, H, 1 or D] and
 * beta [B, L, H]. Computed in f32; f32 [B, L, H, E]. `layer` holds the state before and takes over the one behind;
 * null: it begins at 0.
 */
mx::array gated_delta(
    const mx::array& q,
    const mx::array& k,
    const mx::array& v,
    const mx::array& decay,
    const mx::array& beta,
    KvCache::Layer* layer);

/**
 * x [B, L, D], whose first position goes into slot cache->length, with 0 in the slots before a row's first: a
 * recurrence runs through what attention leaves out. Without a cache rows begin at position 0: x as it is.
 */
mx::array without_padding(const mx::array& x_BLD, const KvCache* cache);

}  // namespace atelier
