// SmolLM3 (transformers 5.24.0, modeling_smollm3.py): Llama with layers that do not rotate.
#include "models/dense.h"
#include "models/families.h"
#include "models/qwen.h"

namespace atelier {

std::shared_ptr<const Model> make_smollm3(const ConfigReader& reader) {
  refuse_sliding_window(reader);
  reader.require("hidden_act", {"silu"});
  const DenseConfig c = reader.dense("smollm3", {.tied = true});
  const int interval = reader.count("no_rope_layer_interval", 4);
  std::vector<int> rotated;
  for (int i = 0; i < c.model.layers; i++) {
    rotated.push_back((i + 1) % interval != 0);
  }
  rotated = reader.whole_numbers("no_rope_layers", rotated);
  if (rotated.size() < static_cast<size_t>(c.model.layers)) {
    reader.invalid("no_rope_layers must have an entry for each layer");
  }
  const Rope rope = reader.rope(c.head_dim, c.model.context, 2'000'000.0);
  const Rope none{std::vector<float>(rope.inv_freq.size(), 0.0f)};
  DecoderSpec spec = decoder_of(c, {rope, none});
  for (int i = 0; i < c.model.layers; i++) {
    AttentionOptions attention = attention_of(c, i);
    attention.rope = rotated[i] ? 0 : 1;
    spec.layers.push_back(pre_norm_layer(
        c,
        i,
        std::make_shared<GroupedAttention>(std::move(attention)),
        std::make_shared<GatedMlp>(mlp_of(c, i))));
  }
  return std::make_shared<Decoder>(std::move(spec));
}

}  // namespace atelier
