#pragma once

#include "kernels/heads.h"
#include "kernels/rms_norm.h"
#include "nn/rope.h"

#include <optional>

namespace atelier {

// The parts of a layer between its products: kernels where there are some for the device and type, their
// plain-op twins elsewhere.

mx::array rms_norm(const mx::array& x, const mx::array& w, float eps);
/** The same and x, which goes on beside it. */
NormBranch rms_norm_branch(const mx::array& x, const mx::array& w, float eps);

/** silu(gate) * up of gate and up side by side. */
mx::array swiglu(const mx::array& gate_up);

/** What an MLP's gate goes through: silu, or gelu by its tanh approximation (gelu_pytorch_tanh). */
enum class Gate { silu, gelu_tanh };

/** gate(gate) * up of gate and up side by side. */
mx::array gated(const mx::array& gate_up, Gate gate);

/** q, k, v with heads first, q and k normalised (where norms are given) and rotated; kernels/heads.h. */
Heads split_heads(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const RopeAngles& angles,
    const HeadsSpec& spec);

}  // namespace atelier
