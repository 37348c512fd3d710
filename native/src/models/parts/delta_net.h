#pragma once

#include "models/parts/norm.h"
#include "models/parts/part.h"

namespace atelier {

struct DeltaNetOptions {
  /** Layer in the cache. */
  int index;
  /** transformers' module, e.g. `model.layers.0.linear_attn.`. */
  std::string at;
  int hidden, key_heads, heads, key_dim, value_dim;
  /** Positions that the convolution reads. */
  int width;
  float epsilon;
  /** One module makes q, k, v and z, ordered by key head, and one b and a (Qwen3-Next); else four make them. */
  bool fused = false;
};

/** Linear attention by the gated delta rule (transformers 5.24.0, Qwen3NextGatedDeltaNet, Qwen3_5GatedDeltaNet). */
class DeltaNet : public Part {
 public:
  explicit DeltaNet(DeltaNetOptions options) : o_(std::move(options)) {}

  std::vector<LinearModule> modules() const override;
  std::vector<TensorSpec> tensors() const override;
  RowNumbers row_numbers() const override;
  mx::array forward(
      const Params& weights,
      const Params& lora,
      const mx::array& x_BLD,
      const Model::Pass& pass) const override;

 private:
  struct Inputs {
    /** [B, L, C] q, k, v side by side; [B, L, H E]; [B, L, H] each. */
    mx::array qkv, z, b, a;
  };
  Inputs inputs(const mx::array& product) const;

  int keys() const {
    return o_.key_heads * o_.key_dim;
  }
  int values() const {
    return o_.heads * o_.value_dim;
  }
  int channels() const {
    return 2 * keys() + values();
  }

  DeltaNetOptions o_;
};

}  // namespace atelier
