#pragma once

#include "models/model.h"
#include "nn/block.h"

namespace atelier {

/** RMS norm over the last axis with a learnt weight. */
struct RmsNorm {
  /** transformers' module, e.g. `model.norm`. */
  std::string name;
  int size;
  float epsilon;
  /** Multiplied by 1 + weight instead of weight (Gemma). */
  bool one_plus = false;

  TensorSpec tensor() const;
  /** What is multiplied by. */
  mx::array factor(const Params& weights) const;
  mx::array operator()(const Params& weights, const mx::array& x) const;
  /** The same and x, which goes on beside it. */
  NormBranch branch(const Params& weights, const mx::array& x) const;
};

}  // namespace atelier
