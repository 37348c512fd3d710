#pragma once

#include "kernels/attention.h"

namespace atelier {

/**
 * From the stacked q/k/v product [B, L, (H + 2K) E] to attention's heads [B, L, H E]: split_heads (kernels/heads.h) and
 * attention with as many slots as queries.
 */
mx::array attend_plain(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const mx::array& cos,
    const mx::array& sin,
    const HeadsSpec& heads,
    const AttentionSpec& spec);
/** The same, a key head at a time, with a backward that splits the heads again. f32 on the CPU. */
mx::array attend_cpu(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const mx::array& cos,
    const mx::array& sin,
    const HeadsSpec& heads,
    const AttentionSpec& spec);

/**
 * The same of one position a row, [B, 1, (H + 2K) E], against `slot` + 1 slots of caches [B, K, S, E], whose last is
 * the position's own and is written in the caches' buffers: what they were must not be read any more. No gradient. The
 * twin is decode_attention_cpu behind split_heads and a copy with the slot.
 */
DecodedHeads decode_attend_cpu(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const mx::array& cos,
    const mx::array& sin,
    const HeadsSpec& heads,
    const mx::array& k_cache,
    const mx::array& v_cache,
    int slot,
    const AttentionSpec& spec);

}  // namespace atelier
