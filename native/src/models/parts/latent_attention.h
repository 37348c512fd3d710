#pragma once

#include "models/parts/norm.h"
#include "models/parts/part.h"

namespace atelier {

struct LatentAttentionOptions {
  /** Layer in the cache. */
  int index;
  /** transformers' module, e.g. `model.layers.0.self_attn.`. */
  std::string at;
  int hidden, heads;
  /** Size of the latent that keys and values are made of, and of the one for queries (0: none). */
  int kv_rank, q_rank = 0;
  /** Of each head: numbers of q and k without positions and with, and of v. */
  int plain, rotary, value;
  /** Of the norms of the latents. */
  float epsilon;
  /** Which of the pass's angles. */
  int rope = 0;
};

/**
 * Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434) with a sigmoid gate for each head (transformers 5.24.0,
 * BailingHybridAttention). The cache holds the latent and the rotated key, which all heads share.
 */
class LatentAttention : public Part {
 public:
  explicit LatentAttention(LatentAttentionOptions options);

  std::vector<LinearModule> modules() const override;
  std::vector<TensorSpec> tensors() const override;
  RowNumbers row_numbers() const override;
  mx::array forward(
      const Params& weights,
      const Params& lora,
      const mx::array& x_BLD,
      const Model::Pass& pass) const override;

 private:
  int key() const {
    return o_.plain + o_.rotary;
  }
  mx::array expanded(
      const Params& weights,
      const Params& lora,
      const mx::array& q,
      const mx::array& slots,
      const Visibility& visible) const;
  mx::array absorbed(
      const Params& weights,
      const Params& lora,
      const mx::array& q,
      const mx::array& slots,
      const Visibility& visible) const;

  LatentAttentionOptions o_;
  RmsNorm kv_norm_, q_norm_;
};

}  // namespace atelier
