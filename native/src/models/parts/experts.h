#pragma once

#include "models/parts/mlp.h"
#include "nn/moe.h"

#include <functional>

namespace atelier {

/** One more MLP that every token goes through (Qwen2-MoE). */
struct SharedExpert {
  /** transformers' module, e.g. `model.layers.0.mlp.shared_expert.`. */
  std::string at;
  int intermediate;
  /** Its output is multiplied by the sigmoid of this module [1, D], e.g. `...mlp.shared_expert_gate`; empty: by 1. */
  std::string gate;
};

struct ExpertsOptions {
  /** transformers' module, e.g. `model.layers.0.mlp.`. */
  std::string at;
  int hidden, experts, chosen, intermediate;
  /** How checkpoints hold the experts: a module for each (`experts.0.gate_proj` ...), or all in `experts.gate_up_proj`. */
  ModuleKind stored = ModuleKind::each_expert;
  /** Where the router's f32 logits [N, E] send each token; `weights` for a router that has more of them. */
  std::function<Routing(const Params& weights, const mx::array& logits_NE)> route;
  /** Those. */
  std::vector<TensorSpec> router_tensors = {};
  std::optional<SharedExpert> shared = std::nullopt;
};

/** A mixture of gated SiLU MLPs behind a router `gate` (Shazeer et al., 2017). */
class Experts : public Part {
 public:
  explicit Experts(ExpertsOptions options);

  std::vector<LinearModule> modules() const override;
  std::vector<TensorSpec> tensors() const override;
  RowNumbers row_numbers() const override;
  mx::array forward(
      const Params& weights,
      const Params& lora,
      const mx::array& x_BLD,
      const Model::Pass& pass) const override;

 private:
  ExpertsOptions o_;
  std::optional<GatedMlp> shared_;
};

}  // namespace atelier
