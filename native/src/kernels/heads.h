#pragma once

#include "kernels/primitive.h"

#include <optional>

namespace atelier {

/** What lies between the stacked q/k/v product and attention. */
struct HeadsSpec {
  int heads, kv_heads, head_dim;
  float eps;
};

struct Heads {
  /** [B, H, L, E], [B, K, L, E], [B, K, L, E]. */
  mx::array q, k, v;
};

/**
 * Splits qkv [B, L, (H + 2K) E] into heads, normalises q and k (RMS, where the norms are given), rotates the first R
 * numbers of each (halves: i with i + R/2) and puts heads before positions. cos, sin: [1 or B, 1, L, R], sin signed
 * (nn/rope.h); R at most E.
 */
Heads split_heads_plain(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const mx::array& cos,
    const mx::array& sin,
    const HeadsSpec& spec);
/** The same in one pass each way. f32 on the CPU. */
Heads split_heads_cpu(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const mx::array& cos,
    const mx::array& sin,
    const HeadsSpec& spec);
/** On CUDA, for heads of 64, 128 and 256 that are rotated whole; in memory positions stay before heads. */
Heads split_heads_gpu(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const mx::array& cos,
    const mx::array& sin,
    const HeadsSpec& spec);
bool split_heads_fits_gpu(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const mx::array& cos,
    const HeadsSpec& spec);

}  // namespace atelier
