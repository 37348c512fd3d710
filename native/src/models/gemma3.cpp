// Gemma 3's text model (transformers 5.24.0, modeling_gemma3.py): layers with a sliding window between such without,
// each kind with its own rope; four norms a layer, multiplied by 1 + weight; gelu; embeddings scaled by sqrt(D).
// Checkpoints of the model that sees pictures hold it too: text_config in config.json, and a vision tower.
#include "models/dense.h"
#include "models/families.h"
#include "models/wrapped.h"

#include <cmath>

namespace atelier {
namespace {

constexpr double global_theta = 1'000'000.0, local_theta = 10'000.0;

// Without layer_types: every `pattern`th layer sees everything.
std::vector<bool> sliding_by_pattern(const ConfigReader& reader, int layers) {
  // transformers 5 keeps the number of older files under a name of its own.
  const int pattern =
      reader.count("sliding_window_pattern", reader.count("_sliding_window_pattern", 6));
  std::vector<bool> sliding;
  for (int i = 0; i < layers; i++) {
    sliding.push_back((i + 1) % pattern != 0);
  }
  return reader.sliding_layers(layers, sliding);
}

// Of global layers, then of sliding ones.
std::vector<Rope> ropes(const ConfigReader& reader, const DenseConfig& c) {
  const int context = c.model.context;
  const Json& now = reader.value("rope_parameters");
  const double global = reader.number("rope_theta", global_theta);
  const double local = reader.number("rope_local_base_freq", local_theta);
  if (now.is_null()) {
    return {
        reader.rope_of(reader.value("rope_scaling"), c.head_dim, context, global),
        reader.rope_of(nullptr, c.head_dim, context, local)};
  }
  if (!now.is_object()) {
    reader.invalid("rope_parameters must be an object");
  }
  reader.require_one_scaling(now.value("full_attention", Json()));
  for (const auto& [key, value] : now.items()) {
    if (key != "full_attention" && key != "sliding_attention") {
      reader.unsupported("rope with '" + key.substr(0, 80) + "'");
    }
  }
  return {
      reader.rope_of(now.value("full_attention", Json()), c.head_dim, context, global),
      reader.rope_of(now.value("sliding_attention", Json()), c.head_dim, context, local)};
}

// Of what a wrapped text_config leaves out: Gemma3TextConfig's own (transformers 5.24.0).
const Json defaults = {
    {"head_dim", 256},
    {"hidden_activation", "gelu_pytorch_tanh"},
    {"hidden_size", 2304},
    {"intermediate_size", 9216},
    {"max_position_embeddings", 131072},
    {"num_attention_heads", 8},
    {"num_hidden_layers", 26},
    {"num_key_value_heads", 4},
    {"vocab_size", 262208}};

DecoderSpec text_model(const ConfigReader& reader) {
  reader.require("hidden_activation", {"gelu_pytorch_tanh"});
  // Older files name an activation that is not used.
  reader.has("hidden_act");
  const DenseConfig c = reader.dense("gemma3_text", {.head_dim = 256, .tied = true});
  const int D = c.model.hidden;
  const double scale = 1.0 / std::sqrt(reader.number("query_pre_attn_scalar", 256));
  if (!(scale > 0) || !std::isfinite(scale)) {
    reader.invalid("query_pre_attn_scalar must be above 0");
  }
  const int window = reader.count("sliding_window", 4096);
  const std::vector<bool> sliding = sliding_by_pattern(reader, c.model.layers);
  auto norm = [&](const std::string& name, int size) {
    RmsNorm out = norm_of(c, name, size);
    out.one_plus = true;
    return out;
  };
  DecoderSpec spec = decoder_of(c, ropes(reader, c));
  spec.final_norm = norm("model.norm", D);
  spec.embedding_scale = std::sqrt(static_cast<float>(D));
  for (int i = 0; i < c.model.layers; i++) {
    const std::string at = layer_name(i);
    AttentionOptions attention = attention_of(c, i);
    attention.scale = scale;
    attention.rope = sliding[i] ? 1 : 0;
    attention.window = sliding[i] ? window : 0;
    attention.q_norm = norm(attention.at + "q_norm", c.head_dim);
    attention.k_norm = norm(attention.at + "k_norm", c.head_dim);
    MlpOptions mlp = mlp_of(c, i);
    mlp.gate = Gate::gelu_tanh;
    spec.layers.push_back(
        {{norm(at + "input_layernorm", D),
          std::make_shared<GroupedAttention>(std::move(attention)),
          norm(at + "post_attention_layernorm", D)},
         {norm(at + "pre_feedforward_layernorm", D),
          std::make_shared<GatedMlp>(std::move(mlp)),
          norm(at + "post_feedforward_layernorm", D)}});
  }
  return spec;
}

}  // namespace

std::shared_ptr<const Model> make_gemma3(const ConfigReader& reader) {
  return std::make_shared<Decoder>(text_model(reader));
}

std::shared_ptr<const Model> make_gemma3_wrapped(const ConfigReader& reader) {
  Json text = wrapped_text(
      reader,
      {"vision_config",
       "mm_tokens_per_image",
       "boi_token_index",
       "eoi_token_index",
       "image_token_index",
       "boi_token_id",
       "eoi_token_id",
       "image_token_id"});
  auto complete = [&](const std::string& key, const Json& value) {
    if ((!text.contains(key) || text[key].is_null()) && !value.is_null()) {
      text[key] = value;
    }
  };
  for (const auto& [key, value] : defaults.items()) {
    complete(key, value);
  }
  for (const char* key : {"eos_token_id", "initializer_range"}) {
    complete(key, reader.value(key));
  }
  // As the text model alone has it: that is what is saved and exported.
  text["architectures"] = Json::array({"Gemma3ForCausalLM"});
  const ConfigReader inner(text, reader.where() + ": text_config");
  inner.require("model_type", {"gemma3_text"});
  inner.has("architectures");
  DecoderSpec spec = text_model(inner);
  inner.require_known_keys();
  for (const char* in : {"", "model."}) {
    spec.config.left_out.push_back(
        {in + std::string("vision_tower."), "the vision tower: text only"});
    spec.config.left_out.push_back(
        {in + std::string("multi_modal_projector."), "the projector of pictures: text only"});
  }
  spec.config.also_named = {
      {"model.", "language_model.model."},
      {"lm_head.", "language_model.lm_head."},
      {"model.", "model.language_model."}};
  return std::make_shared<Decoder>(std::move(spec));
}

}  // namespace atelier
