#include "models/dense.h"

#include <cmath>

namespace atelier {

RmsNorm norm_of(const DenseConfig& config, const std::string& name, int size) {
  return {name, size, static_cast<float>(config.norm_epsilon)};
}

AttentionOptions attention_of(const DenseConfig& config, int layer) {
  AttentionOptions o;
  o.index = layer;
  o.at = layer_name(layer) + "self_attn.";
  o.hidden = config.model.hidden;
  o.heads = config.heads;
  o.kv_heads = config.kv_heads;
  o.head_dim = config.head_dim;
  o.scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  return o;
}

MlpOptions mlp_of(const DenseConfig& config, int layer) {
  return {layer_name(layer) + "mlp.", config.model.hidden, config.intermediate};
}

std::vector<Residual> pre_norm_layer(
    const DenseConfig& config,
    int layer,
    std::shared_ptr<const Part> attention,
    std::shared_ptr<const Part> mlp) {
  const std::string at = layer_name(layer);
  const int size = config.model.hidden;
  return {
      {norm_of(config, at + "input_layernorm", size), std::move(attention)},
      {norm_of(config, at + "post_attention_layernorm", size), std::move(mlp)}};
}

DecoderSpec decoder_of(const DenseConfig& config, std::vector<Rope> ropes) {
  return {config.model, std::move(ropes), {}, norm_of(config, "model.norm", config.model.hidden)};
}

}  // namespace atelier
