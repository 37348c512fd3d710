// Qwen2 and Qwen2.5 (transformers 5.24.0, configuration_qwen2.py): biases on q, k and v.
#include "models/dense.h"
#include "models/families.h"
#include "models/qwen.h"

namespace atelier {

std::shared_ptr<const Model> make_qwen2(const ConfigReader& reader) {
  refuse_sliding_window(reader);
  reader.require("hidden_act", {"silu"});
  const DenseConfig c = reader.dense("qwen2");
  DecoderSpec spec = decoder_of(c, {reader.rope(c.head_dim, c.model.context)});
  for (int i = 0; i < c.model.layers; i++) {
    AttentionOptions attention = attention_of(c, i);
    attention.qkv_bias = true;
    spec.layers.push_back(pre_norm_layer(
        c,
        i,
        std::make_shared<GroupedAttention>(std::move(attention)),
        std::make_shared<GatedMlp>(mlp_of(c, i))));
  }
  return std::make_shared<Decoder>(std::move(spec));
}

}  // namespace atelier
