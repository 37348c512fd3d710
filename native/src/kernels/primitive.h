#pragma once

#include "core/mlx.h"

#include <functional>
#include <vector>

namespace atelier {

/** Whether kernels are used: off, everything runs on their plain-op twins. On at start. */
void use_kernels(bool on);
bool kernels_switched_on();

/** The CPU kernels take f32 on the CPU; anything else goes to the twin. */
bool cpu_kernels_for(const mx::array& x);

using Arrays = std::vector<mx::array>;

/** What a CPU kernel is made of. */
struct CpuKernel {
  const char* name;
  /** Runs on the stream's thread; inputs are contiguous where `apply` made them so, outputs are allocated. */
  std::function<void(const Arrays& in, Arrays& out)> run;
  /** Cotangents of all inputs, in order; only those of `wanted` need a meaning. Null: not differentiable. */
  std::function<Arrays(
      const Arrays& in,
      const Arrays& cotangents,
      const Arrays& out,
      const std::vector<int>& wanted)>
      vjp;
  /** Input whose buffer an output is, by output; -1, or none: one of its own. The kernel may write into it. */
  std::vector<int> shares = {};
};

/** f32 outputs of the given shapes (int32 where `types` says so). */
Arrays apply(
    CpuKernel kernel,
    Arrays inputs,
    const std::vector<mx::Shape>& shapes,
    std::vector<mx::Dtype> types = {});

}  // namespace atelier
