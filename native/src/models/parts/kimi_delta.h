#pragma once

#include "models/parts/part.h"

namespace atelier {

struct KimiDeltaOptions {
  /** Layer in the cache. */
  int index;
  /** transformers' module, e.g. `model.layers.0.self_attn.`. */
  std::string at;
  int hidden, heads, head_dim;
  /** Positions that the convolution reads. */
  int width;
  float epsilon;
  /** The decay's logarithm is this times a sigmoid; absent: minus a softplus, without bound. */
  std::optional<double> lower_bound;
};

/**
 * Kimi Delta Attention: the gated delta rule with a decay for each channel of the key (transformers 5.24.0,
 * BailingHybridDeltaAttention).
 */
class KimiDelta : public Part {
 public:
  explicit KimiDelta(KimiDeltaOptions options) : o_(std::move(options)) {}

  std::vector<LinearModule> modules() const override;
  std::vector<TensorSpec> tensors() const override;
  RowNumbers row_numbers() const override;
  mx::array forward(
      const Params& weights,
      const Params& lora,
      const mx::array& x_BLD,
      const Model::Pass& pass) const override;

 private:
  int size() const {
    return o_.heads * o_.head_dim;
  }
  mx::array decay(const Params& weights, const mx::array& f_BLC) const;

  KimiDeltaOptions o_;
};

}  // namespace atelier
