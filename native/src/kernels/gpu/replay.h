#pragma once

#include "core/mlx.h"

#include <functional>
#include <memory>
#include <vector>

namespace atelier {

/**
 * A step of fixed shapes on CUDA, recorded once as a CUDA graph and then launched as a whole: building and encoding a
 * few hundred operations takes the host longer than the GPU needs for them.
 *
 * The step is a function of its state. What it returns begins with the next state, of the same shapes and types: each
 * in the buffer of the one before (GpuKernel::in_place) or copied there after the launch. The rest are results.
 */
class Replay {
 public:
  using Arrays = std::vector<mx::array>;

  /** Records `step`, which is called here, once; nothing runs. The state is given up to it. */
  Replay(const std::function<Arrays(const Arrays& state)>& step, Arrays state);

  /** Launches the step and returns its results, lazily evaluated as any array. */
  Arrays run();

  /** The state after the last run. Its buffers are this object's until it ends. */
  const Arrays& state() const;

  /** Whether its kernels may start before those before them have ended. */
  bool overlaps() const;

  /** Whether there are CUDA graphs to record. */
  static bool available();

  struct Recording;

 private:
  std::shared_ptr<Recording> recording_;
};

}  // namespace atelier
