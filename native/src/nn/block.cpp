#include "nn/block.h"

#include "kernels/lora_sum.h"
#include "kernels/swiglu.h"
#include "kernels/thin_product.h"

namespace atelier {

mx::array rms_norm(const mx::array& x, const mx::array& w, float eps) {
  if (rms_norm_fits_gpu(x, w)) {
    return rms_norm_gpu(x, w, eps);
  }
  return cpu_kernels_for(x) ? rms_norm_cpu(x, w, eps) : rms_norm_plain(x, w, eps);
}

NormBranch rms_norm_branch(const mx::array& x, const mx::array& w, float eps) {
  if (x.is_tracer() && rms_norm_fits_gpu(x, w)) {
    return rms_norm_branch_gpu(x, w, eps);
  }
  return x.is_tracer() && cpu_kernels_for(x) ? rms_norm_branch_cpu(x, w, eps)
                                             : NormBranch{x, rms_norm(x, w, eps)};
}

mx::array swiglu(const mx::array& gate_up) {
  for (const auto& gated : {thin_product_gated_gpu, lora_sum_gated_gpu}) {
    if (const std::optional<mx::array> made = gated(gate_up)) {
      return *made;
    }
  }
  if (swiglu_fits_gpu(gate_up)) {
    return swiglu_gpu(gate_up);
  }
  return cpu_kernels_for(gate_up) ? swiglu_cpu(gate_up) : swiglu_plain(gate_up);
}

mx::array gated(const mx::array& gate_up, Gate gate) {
  if (gate == Gate::silu) {
    return swiglu(gate_up);
  }
  return cpu_kernels_for(gate_up) ? geglu_cpu(gate_up) : geglu_plain(gate_up);
}

Heads split_heads(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const RopeAngles& angles,
    const HeadsSpec& spec) {
  const auto split = split_heads_fits_gpu(qkv, q_norm, angles.cos, spec) ? split_heads_gpu
                     : cpu_kernels_for(qkv)                              ? split_heads_cpu
                                                                         : split_heads_plain;
  return split(qkv, q_norm, k_norm, angles.cos, angles.sin, spec);
}

}  // namespace atelier
