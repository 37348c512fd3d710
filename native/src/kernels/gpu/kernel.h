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

/** What a launch is in a graph beside its outputs. */
struct GpuNode {
  /** As CpuKernel's; null: not differentiable. */
  decltype(CpuKernel::vjp) vjp = nullptr;
  /** Inputs that are passed on, in their buffers, as the first outputs: gradients by them meet in this node. */
  std::vector<int> passed = {};
  /** One pass over memory: a backward may make it a second time (`again`) rather than have it kept. */
  bool light = false;
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

  Arrays operator()(const Arrays& inputs, const GpuLaunch& launch, const GpuNode& node = {}) const;

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

/**
 * x, made once more from its inputs when `after` are there; x itself where it is not the result of a light kernel. For
 * a backward that needs x: what was made in the forward need not be kept until then.
 */
mx::array again(const mx::array& x, const Arrays& after);

/** An f32 constant as one of GpuLaunch's; the source reads it with `as_float(NAME)`. */
int float_bits(float x);

}  // namespace atelier
