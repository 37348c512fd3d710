#include "models/qwen_hybrid.h"

#include "models/parts/experts.h"
#include "models/qwen.h"

#include <cmath>

namespace atelier {
namespace {

constexpr double default_partial = 0.25;

std::vector<bool> linear_layers(const ConfigReader& reader, int layers) {
  const int interval = reader.count("full_attention_interval", 4);
  std::vector<bool> out;
  const Json& types = reader.value("layer_types");
  if (types.is_null()) {
    for (int i = 0; i < layers; i++) {
      out.push_back((i + 1) % interval != 0);
    }
    return out;
  }
  if (!types.is_array() || types.size() != static_cast<size_t>(layers)) {
    reader.invalid("layer_types must be a list with one entry a layer");
  }
  for (const Json& type : types) {
    if (type != "linear_attention" && type != "full_attention") {
      reader.unsupported("layer type " + type.dump().substr(0, 80));
    }
    out.push_back(type == "linear_attention");
  }
  return out;
}

// Positions of pictures have three numbers (mrope_section), those of text one: the same angle in all sections.
Rope partial_rope(const ConfigReader& reader, int head_dim, int context) {
  const Json& now = reader.value("rope_parameters");
  reader.require_one_scaling(now);
  Json parameters = now.is_null() ? reader.value("rope_scaling") : now;
  double partial = reader.number("partial_rotary_factor", default_partial);
  if (parameters.is_object()) {
    partial = ConfigReader(parameters, reader.where() + ": rope")
                  .number("partial_rotary_factor", partial);
    for (const char* key : {"partial_rotary_factor", "mrope_section", "mrope_interleaved"}) {
      parameters.erase(key);
    }
  }
  const double rotated = head_dim * partial;
  if (!(rotated >= 2 && rotated <= head_dim) || static_cast<int>(rotated) % 2 != 0) {
    reader.invalid("partial_rotary_factor must leave an even number of each head to rotate");
  }
  return reader.rope_of(
      parameters, static_cast<int>(rotated), context, reader.number("rope_theta", 10000.0));
}

DeltaNetOptions delta_of(const ConfigReader& reader, const DenseConfig& dense) {
  DeltaNetOptions o;
  o.hidden = dense.model.hidden;
  o.key_heads = reader.count("linear_num_key_heads", 16);
  o.heads = reader.count("linear_num_value_heads", 32);
  o.key_dim = reader.count("linear_key_head_dim", 128);
  o.value_dim = reader.count("linear_value_head_dim", 128);
  o.width = reader.count("linear_conv_kernel_dim", 4);
  o.epsilon = static_cast<float>(dense.norm_epsilon);
  if (o.heads % o.key_heads != 0) {
    reader.invalid("linear_num_value_heads is no multiple of linear_num_key_heads");
  }
  if (int64_t{o.heads} * o.key_dim > 1'000'000 || int64_t{o.heads} * o.value_dim > 1'000'000 ||
      o.width < 2 || o.width > 1000) {
    reader.invalid("sizes of linear attention beyond any model that can be run");
  }
  // The type that other programs keep the state in; here it is f32.
  reader.require("mamba_ssm_dtype", {"float32"});
  return o;
}

RmsNorm one_plus(const HybridConfig& config, const std::string& name, int size) {
  RmsNorm norm = norm_of(config.dense, name, size);
  norm.one_plus = true;
  return norm;
}

std::shared_ptr<const Part> attention(const HybridConfig& config, int layer) {
  if (config.linear[layer]) {
    DeltaNetOptions o = config.delta;
    o.index = layer;
    o.at = layer_name(layer) + "linear_attn.";
    return std::make_shared<DeltaNet>(std::move(o));
  }
  AttentionOptions o = attention_of(config.dense, layer);
  o.gated = true;
  o.qkv_bias = o.out_bias = config.bias;
  o.q_norm = one_plus(config, o.at + "q_norm", config.dense.head_dim);
  o.k_norm = one_plus(config, o.at + "k_norm", config.dense.head_dim);
  return std::make_shared<GroupedAttention>(std::move(o));
}

}  // namespace

HybridConfig read_hybrid(
    const ConfigReader& reader,
    const std::string& family,
    std::optional<int> intermediate) {
  reader.require("hidden_act", {"silu"});
  reader.require("use_sliding_window", {false});
  for (const char* unused : {"sliding_window", "max_window_layers"}) {
    reader.has(unused);
  }
  HybridConfig c{
      reader.dense(family, {.head_dim = 256, .intermediate = intermediate}), {}, {}, {}, false};
  const ModelConfig& model = c.dense.model;
  c.delta = delta_of(reader, c.dense);
  c.linear = linear_layers(reader, model.layers);
  c.rope = partial_rope(reader, c.dense.head_dim, model.context);
  c.bias = reader.flag("attention_bias", false);
  c.dense.model.left_out.push_back(multi_token_prediction());
  return c;
}

DecoderSpec hybrid_decoder(
    const HybridConfig& config,
    const std::vector<std::shared_ptr<const Part>>& mlps) {
  const int D = config.dense.model.hidden;
  DecoderSpec spec = decoder_of(config.dense, {config.rope});
  spec.final_norm = one_plus(config, "model.norm", D);
  for (int i = 0; i < config.dense.model.layers; i++) {
    const std::string at = layer_name(i);
    spec.layers.push_back(
        {{one_plus(config, at + "input_layernorm", D), attention(config, i)},
         {one_plus(config, at + "post_attention_layernorm", D), mlps[i]}});
  }
  return spec;
}

std::shared_ptr<const Part> hybrid_experts(
    const ConfigReader& reader,
    const HybridConfig& config,
    int layer,
    bool normalise,
    ModuleKind stored) {
  const MixtureConfig m = reader.mixture();
  ExpertsOptions o;
  o.at = layer_name(layer) + "mlp.";
  o.hidden = config.dense.model.hidden;
  o.experts = m.experts;
  o.chosen = m.chosen;
  o.intermediate = m.intermediate;
  o.stored = stored;
  o.route = [chosen = m.chosen, normalise](const Params&, const mx::array& logits_NE) {
    return softmax_routing(logits_NE, chosen, normalise);
  };
  o.shared = SharedExpert{
      o.at + "shared_expert.",
      reader.count("shared_expert_intermediate_size"),
      o.at + "shared_expert_gate"};
  return std::make_shared<Experts>(std::move(o));
}

LeftOut multi_token_prediction() {
  return {"mtp.", "layers for multi-token prediction"};
}

}  // namespace atelier
