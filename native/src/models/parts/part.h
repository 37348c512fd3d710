#pragma once

#include "models/model.h"

namespace atelier {

/**
 * A piece of a layer with weights of its own: attention, an MLP, a mixture of experts. Like the model it holds no
 * arrays. Families are made of parts (models/decoder.h).
 */
class Part {
 public:
  virtual ~Part() = default;

  /** Modules of linear maps; their weights and biases are tensors too. */
  virtual std::vector<LinearModule> modules() const = 0;
  /** All other tensors. */
  virtual std::vector<TensorSpec> tensors() const {
    return {};
  }
  virtual RowNumbers row_numbers() const = 0;
  /** What it adds to the residual stream for x [B, L, D]. */
  virtual mx::array forward(
      const Params& weights,
      const Params& lora,
      const mx::array& x_BLD,
      const Model::Pass& pass) const = 0;
  /** residual + forward; parts that end with a product have it add. */
  virtual mx::array forward_onto(
      const mx::array& residual,
      const Params& weights,
      const Params& lora,
      const mx::array& x_BLD,
      const Model::Pass& pass) const {
    return residual + forward(weights, lora, x_BLD, pass);
  }
};

}  // namespace atelier
