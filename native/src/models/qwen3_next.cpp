// Qwen3-Next (transformers 5.24.0, modeling_qwen3_next.py): linear and full attention, mixtures of experts.
#include "models/families.h"
#include "models/qwen_hybrid.h"

#include <algorithm>

namespace atelier {

std::shared_ptr<const Model> make_qwen3_next(const ConfigReader& reader) {
  HybridConfig c = read_hybrid(reader, "qwen3_next");
  c.delta.fused = true;
  const bool normalise = reader.flag("norm_topk_prob", true);
  const int step = reader.count("decoder_sparse_step", 1);
  const std::vector<int> dense = reader.whole_numbers("mlp_only_layers", {});
  std::vector<std::shared_ptr<const Part>> mlps;
  bool any = false;
  for (int i = 0; i < c.dense.model.layers; i++) {
    const bool sparse =
        (i + 1) % step == 0 && std::find(dense.begin(), dense.end(), i) == dense.end();
    any = any || sparse;
    mlps.push_back(
        sparse ? hybrid_experts(reader, c, i, normalise, ModuleKind::each_expert)
               : std::make_shared<GatedMlp>(mlp_of(c.dense, i)));
  }
  DecoderSpec spec = hybrid_decoder(c, mlps);
  spec.chosen_experts = any ? reader.count("num_experts_per_tok") : 0;
  return std::make_shared<Decoder>(std::move(spec));
}

}  // namespace atelier
