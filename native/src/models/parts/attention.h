#pragma once

#include "models/parts/norm.h"
#include "models/parts/part.h"

namespace atelier {

struct AttentionOptions {
  /** Layer in the cache. */
  int index;
  /** transformers' module, e.g. `model.layers.0.self_attn.`. */
  std::string at;
  int hidden, heads, kv_heads, head_dim;
  /** Which of the pass's angles. */
  int rope = 0;
  /** What scores are multiplied by. */
  double scale;
  /** Tokens that a token sees at most, itself included; 0: all before it. */
  int window = 0;
  bool qkv_bias = false, out_bias = false;
  /** What a head gives is multiplied by the sigmoid of numbers that q_proj makes behind its query (Qwen3-Next). */
  bool gated = false;
  /** Of the heads of q and k. */
  std::optional<RmsNorm> q_norm = std::nullopt, k_norm = std::nullopt;
};

/** Causal attention with grouped queries and rotary positions (Ainslie et al., "GQA", 2023). */
class GroupedAttention : public Part {
 public:
  explicit GroupedAttention(AttentionOptions options) : o_(std::move(options)) {}

  std::vector<LinearModule> modules() const override;
  std::vector<TensorSpec> tensors() const override;
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
  /** What attention gives, its heads side by side: [B, L, H E]. */
  mx::array heads(
      const Params& weights,
      const Params& lora,
      const mx::array& x_BLD,
      const Model::Pass& pass) const;

  AttentionOptions o_;
};

}  // namespace atelier
