// Llama 2, 3.x, SmolLM2 and their like (transformers 5.24.0, configuration_llama.py).
#include "models/dense.h"
#include "models/families.h"

namespace atelier {

std::shared_ptr<const Model> make_llama(const ConfigReader& reader) {
  reader.require("hidden_act", {"silu"});
  const DenseConfig c = reader.dense("llama");
  DecoderSpec spec = decoder_of(c, {reader.rope(c.head_dim, c.model.context)});
  for (int i = 0; i < c.model.layers; i++) {
    spec.layers.push_back(pre_norm_layer(
        c,
        i,
        std::make_shared<GroupedAttention>(attention_of(c, i)),
        std::make_shared<GatedMlp>(mlp_of(c, i))));
  }
  return std::make_shared<Decoder>(std::move(spec));
}

}  // namespace atelier
