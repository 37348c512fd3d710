#pragma once

#include "kernels/primitive.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace atelier {

/** GPU kernels take f32, f16 and bf16 on CUDA; anything else goes to the twin. */
bool gpu_kernels_for(const mx::array& x);

using NamedInts = std::vector<std::pair<const char*, int>>;

/** One launch: outputs, grid, numbers that the source is compiled with, and numbers that it is called with. */
struct GpuLaunch {
  std::vector<mx::Shape> shapes;
  std::vector<mx::Dtype> types;
  std::array<int, 3> blocks;
  int threads;
  /** A model's, so that there are few kernels to compile: not a batch's. */
  NamedInts constants;
  NamedInts sizes = {};
};

/**
 * A CUDA kernel, compiled at run time for each set of constants and types (0.2 s). In its source the inputs and
 * outputs are pointers of those names, `T` is the type of the first input, and gpu/source.h's prelude is there. Inputs
 * are made contiguous. MLX compiles such sources too (mlx::fast::cuda_kernel), with headers that take 3 to 6 s each.
 */
class GpuKernel {
 public:
  GpuKernel(
      std::string name,
      std::vector<std::string> inputs,
      std::vector<std::string> outputs,
      std::string source)
      : name_(std::move(name)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        source_(std::move(source)) {}

  /** `vjp` as CpuKernel's; null: not differentiable. */
  Arrays operator()(
      const Arrays& inputs,
      const GpuLaunch& launch,
      decltype(CpuKernel::vjp) vjp = {}) const;

  /**
   * For a kernel that writes into the inputs of these indices: returns them as they are afterwards, in the same
   * buffers, and then the outputs. Whoever calls gives the arrays up: one that is kept shows the new numbers too.
   */
  Arrays in_place(const Arrays& inputs, const std::vector<int>& written, const GpuLaunch& launch)
      const;

 private:
  std::string key(const Arrays& inputs, const GpuLaunch& launch) const;
  std::string whole_source(const Arrays& inputs, const GpuLaunch& launch) const;
  std::shared_ptr<mx::Primitive> primitive(const Arrays& inputs, const GpuLaunch& launch) const;

  std::string name_;
  std::vector<std::string> inputs_, outputs_;
  std::string source_;
};

/** An f32 constant as one of GpuLaunch's; the source reads it with `as_float(NAME)`. */
int float_bits(float x);

}  // namespace atelier
