#include "models/qwen.h"

#include "models/dense.h"

#include <algorithm>

namespace atelier {

void refuse_sliding_window(const ConfigReader& reader) {
  reader.require("use_sliding_window", {false});
  for (const char* unused : {"sliding_window", "max_window_layers"}) {
    reader.has(unused);
  }
  const int layers = reader.count("num_hidden_layers");
  const std::vector<bool> sliding = reader.sliding_layers(layers, {});
  if (std::find(sliding.begin(), sliding.end(), true) != sliding.end()) {
    reader.unsupported("layer type \"sliding_attention\"");
  }
}

AttentionOptions qwen3_attention(const DenseConfig& config, int layer) {
  AttentionOptions o = attention_of(config, layer);
  o.q_norm = norm_of(config, o.at + "q_norm", config.head_dim);
  o.k_norm = norm_of(config, o.at + "k_norm", config.head_dim);
  return o;
}

}  // namespace atelier
