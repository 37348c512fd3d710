#pragma once

#include "kernels/primitive.h"

#include <optional>

namespace atelier {

/**
 * What the gated delta rule reads; f32. B rows, L positions, Hk key heads, H value heads (a multiple of Hk: value
 * head h reads key head h / (H / Hk)), D key head, E value head.
 */
struct DeltaInput {
  /** [B, L, Hk, D]: normalised, q scaled. */
  mx::array q, k;
  /** [B, L, H, E] */
  mx::array v;
  /** Logarithm of the decay, at most 0: [B, L, H, 1], or [B, L, H, D] for each channel of the key. */
  mx::array decay;
  /** [B, L, H]: how much of the state's answer to k is replaced, 0 to 1. */
  mx::array beta;
  /** [B, H, D, E] before the first position; absent: zeros. */
  std::optional<mx::array> state;
};

struct DeltaOutput {
  /** [B, L, H, E] */
  mx::array y;
  /** [B, H, D, E] after the last position. */
  mx::array state;
};

/**
 * Linear attention with the gated delta rule (Yang et al., "Gated Delta Networks", arXiv:2412.06464; with a decay for
 * each channel: Kimi Delta Attention, arXiv:2510.26692). At each position, with S the state:
 *
 *   S <- diag(exp(decay)) S,  S <- S + k (beta (v - Sᵀ k))ᵀ,  y = Sᵀ q
 *
 * The twin computes it chunk by chunk as products of matrices, differentiable by MLX.
 */
DeltaOutput gated_delta_plain(const DeltaInput& in);
/** The same, position by position, with a backward. f32 on the CPU, where has_blas(). */
DeltaOutput gated_delta_cpu(const DeltaInput& in);

}  // namespace atelier
