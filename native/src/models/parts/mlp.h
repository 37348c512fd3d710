#pragma once

#include "models/parts/part.h"
#include "nn/block.h"

namespace atelier {

struct MlpOptions {
  /** transformers' module, e.g. `model.layers.0.mlp.`. */
  std::string at;
  int hidden, intermediate;
  Gate gate = Gate::silu;
  bool bias = false;
};

/** down(gate(gate_proj x) * up_proj x). */
class GatedMlp : public Part {
 public:
  explicit GatedMlp(MlpOptions options) : o_(std::move(options)) {}

  std::vector<LinearModule> modules() const override;
  RowNumbers row_numbers() const override;
  mx::array forward(
      const Params& weights,
      const Params& lora,
      const mx::array& x_BLD,
      const Model::Pass& pass) const override;
  mx::array forward_onto(
      const mx::array& residual,
      const Params& weights,
      const Params& lora,
      const mx::array& x_BLD,
      const Model::Pass& pass) const override;

 private:
  /** gate(x) * up(x), [B, L, F]. */
  mx::array features(const Params& weights, const Params& lora, const mx::array& x_BLD) const;

  MlpOptions o_;
};

}  // namespace atelier
