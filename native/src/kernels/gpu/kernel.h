#pragma once

#include "kernels/primitive.h"

#include <any>
#include <array>
#include <optional>
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
  /** A model's, or one of few that a batch's size leads to: each set is a kernel to compile. */
  NamedInts constants;
  NamedInts sizes = {};
  /** Blocks that a multiprocessor shall have room for at a time. */
  int at_once = 1;
  /** Neighbours along x that run side by side and write into each other's shared memory (capability 9.0 on). */
  int cluster = 1;
  /** Of shared memory, beside what the source declares itself. */
  int shared_bytes = 0;
};

/** What a launch is in a graph beside its outputs. */
struct GpuNode {
  /** As CpuKernel's; null: not differentiable. */
  decltype(CpuKernel::vjp) vjp = nullptr;
  /** Inputs that are passed on, in their buffers, as the first outputs: gradients by them meet in this node. */
  std::vector<int> passed = {};
  /** One pass over memory: a backward may make it a second time (`again`) rather than have it kept. */
  bool light = false;
  /** What another kernel needs to know to do this one's work itself, from its inputs: see recipe_of. */
  std::any recipe = {};
};

/**
 * A CUDA kernel, compiled at run time for each set of constants and types (0.2 s). In its source the inputs and
 * outputs are pointers of those names, `T` is the type of the first input, and gpu/source.h's prelude is there. Inputs
 * are made contiguous; `helpers` are functions that the source calls. MLX compiles such sources too
 * (mlx::fast::cuda_kernel), with headers that take 3 to 6 s each.
 */
class GpuKernel {
 public:
  GpuKernel(
      std::string name,
      std::vector<std::string> inputs,
      std::vector<std::string> outputs,
      std::string source,
      std::string helpers = {})
      : name_(std::move(name)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        source_(std::move(source)),
        helpers_(std::move(helpers)) {}

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
  std::string helpers_;
};

/**
 * While one lives, what its thread builds is for a recorded graph (gpu/replay.h). There alone may launches overlap and
 * blocks form clusters: MLX keeps graphs and moves other kernels into them, in which cuBLAS's would start too soon and
 * which would keep another kernel's size of a cluster.
 */
class GpuRecording {
 public:
  GpuRecording();
  ~GpuRecording();
  GpuRecording(const GpuRecording&) = delete;
  static bool now();
};

/**
 * Whether a GpuKernel was launched under this name. It may start while the kernel before it ends, since it waits itself:
 * at its beginning where its source does not say when (gpu/source.h).
 */
bool is_gpu_kernel(const std::string& name);

/**
 * x, made once more from its inputs when `after` are there; x itself where it is not the result of a light kernel. For
 * a backward that needs x: what was made in the forward need not be kept until then.
 */
mx::array again(const mx::array& x, const Arrays& after);

/** The recipe of the kernel that x is still to be made by; null where x is there, differentiated, or made otherwise. */
const std::any* any_recipe_of(const mx::array& x);
template <class Recipe>
const Recipe* recipe_of(const mx::array& x) {
  const std::any* found = any_recipe_of(x);
  return found ? std::any_cast<Recipe>(found) : nullptr;
}

/** An f32 constant as one of GpuLaunch's; the source reads it with `as_float(NAME)`. */
int float_bits(float x);

}  // namespace atelier
