// Qwen3-MoE (transformers 5.24.0, modeling_qwen3_moe.py): Qwen3 with mixtures of experts in place of MLPs.
#include "models/dense.h"
#include "models/families.h"
#include "models/parts/experts.h"
#include "models/qwen.h"

#include <algorithm>

namespace atelier {

std::shared_ptr<const Model> make_qwen3_moe(const ConfigReader& reader) {
  refuse_sliding_window(reader);
  reader.require("hidden_act", {"silu"});
  const DenseConfig c = reader.dense("qwen3_moe");
  const MixtureConfig m = reader.mixture();
  const bool normalise = reader.flag("norm_topk_prob", false);
  const int step = reader.count("decoder_sparse_step", 1);
  const std::vector<int> dense = reader.whole_numbers("mlp_only_layers", {});
  DecoderSpec spec = decoder_of(c, {reader.rope(c.head_dim, c.model.context)});
  bool any = false;
  for (int i = 0; i < c.model.layers; i++) {
    const bool sparse =
        (i + 1) % step == 0 && std::find(dense.begin(), dense.end(), i) == dense.end();
    any = any || sparse;
    std::shared_ptr<const Part> mlp;
    if (sparse) {
      ExpertsOptions o;
      o.at = layer_name(i) + "mlp.";
      o.hidden = c.model.hidden;
      o.experts = m.experts;
      o.chosen = m.chosen;
      o.intermediate = m.intermediate;
      o.route = [chosen = m.chosen, normalise](const Params&, const mx::array& logits_NE) {
        return softmax_routing(logits_NE, chosen, normalise);
      };
      mlp = std::make_shared<Experts>(std::move(o));
    } else {
      mlp = std::make_shared<GatedMlp>(mlp_of(c, i));
    }
    spec.layers.push_back(pre_norm_layer(
        c, i, std::make_shared<GroupedAttention>(qwen3_attention(c, i)), std::move(mlp)));
  }
  spec.chosen_experts = any ? m.chosen : 0;
  return std::make_shared<Decoder>(std::move(spec));
}

}  // namespace atelier
