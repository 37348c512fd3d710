// Qwen3, dense (transformers 5.24.0, configuration_qwen3.py): RMS norms on the heads of q and k.
#include "models/dense.h"
#include "models/families.h"
#include "models/qwen.h"

namespace atelier {

std::shared_ptr<const Model> make_qwen3(const ConfigReader& reader) {
  refuse_sliding_window(reader);
  reader.require("hidden_act", {"silu"});
  const DenseConfig c = reader.dense("qwen3", {.head_dim = 128});
  DecoderSpec spec = decoder_of(c, {reader.rope(c.head_dim, c.model.context)});
  for (int i = 0; i < c.model.layers; i++) {
    spec.layers.push_back(pre_norm_layer(
        c,
        i,
        std::make_shared<GroupedAttention>(qwen3_attention(c, i)),
        std::make_shared<GatedMlp>(mlp_of(c, i))));
  }
  return std::make_shared<Decoder>(std::move(spec));
}

}  // namespace atelier
