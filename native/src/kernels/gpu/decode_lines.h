#pragma once

#include "kernels/attention.h"

namespace atelier {

/**
 * decode_heads_gpu for many rows in lines (DecodeRows): what the copies in a line have in common is read once for all of
 * them, and multiplied by tensor cores.
 */
DecodedHeads decode_lines_gpu(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const mx::array& cos,
    const mx::array& sin,
    const HeadsSpec& heads,
    const mx::array& k_cache,
    const mx::array& v_cache,
    const DecodeRows& rows,
    const AttentionSpec& spec);
/** Whether that is worth it, where decode_heads_fits_gpu. */
bool decode_lines_fit_gpu(
    const mx::array& qkv,
    const HeadsSpec& heads,
    const DecodeRows& rows,
    const AttentionSpec& spec);

}  // namespace atelier
