#pragma once

#include "models/model.h"

namespace atelier {

/**
 * The pre-norm decoder with rotary positions, grouped queries and a gated SiLU MLP that Llama made common
 * (transformers 5.24.0, modeling_llama.py; with `qk_norm` modeling_qwen3.py).
 */
class DenseDecoder : public Model {
 public:
  explicit DenseDecoder(ModelConfig config);

  std::vector<TensorSpec> tensors() const override;
  std::vector<LinearModule> linears() const override;
  Params stack(const Params& checkpoint) const override;
  Params unstack(const Params& weights) const override;

  Pass begin(const mx::array& ids_BL, KvCache* cache, std::optional<mx::array> mask) const override;
  mx::array embed(const Params& weights, const mx::array& ids_BL) const override;
  mx::array layer(
      int index,
      const Params& weights,
      const Params& lora,
      const mx::array& x_BLD,
      const Pass& pass) const override;
  mx::array final_norm(const Params& weights, const mx::array& x_BLD) const override;

 private:
  mx::array attend(
      const std::string& at,
      const Params& weights,
      const Params& lora,
      const mx::array& x,
      const Pass& pass,
      int index) const;
  mx::array norm(const Params& weights, const std::string& name, const mx::array& x) const;

  std::vector<float> inv_freq_;
};

}  // namespace atelier
