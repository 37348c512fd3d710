// Mistral (transformers 5.24.0, configuration_mistral.py): Llama with a sliding window over all layers.
#include "models/dense.h"
#include "models/families.h"

namespace atelier {

std::shared_ptr<const Model> make_mistral(const ConfigReader& reader) {
  reader.require("hidden_act", {"silu"});
  const DenseConfig c = reader.dense("mistral");
  // null: none; left out: the class's own.
  const int window = reader.has("sliding_window") || !reader.stated("sliding_window")
                         ? reader.count("sliding_window", 4096)
                         : 0;
  DecoderSpec spec = decoder_of(c, {reader.rope(c.head_dim, c.model.context)});
  for (int i = 0; i < c.model.layers; i++) {
    AttentionOptions attention = attention_of(c, i);
    attention.window = window;
    spec.layers.push_back(pre_norm_layer(
        c,
        i,
        std::make_shared<GroupedAttention>(std::move(attention)),
        std::make_shared<GatedMlp>(mlp_of(c, i))));
  }
  return std::make_shared<Decoder>(std::move(spec));
}

}  // namespace atelier
