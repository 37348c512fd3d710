// Qwen3.5, dense and with experts (transformers 5.24.0, modeling_qwen3_5.py, modeling_qwen3_5_moe.py), text only.
// Checkpoints are those of a model that sees pictures: text_config in config.json, `model.language_model.` in names,
// and a vision tower, which is left out. Files of the text model alone have neither.
#include "models/families.h"
#include "models/qwen_hybrid.h"
#include "models/wrapped.h"

namespace atelier {
namespace {

const std::string text_prefix = "model.", stored_prefix = "model.language_model.";

std::string stored(const std::string& name) {
  return name.starts_with(text_prefix) ? stored_prefix + name.substr(text_prefix.size()) : name;
}

// The text model of `text`, a text_config or a whole config.json.
DecoderSpec text_model(const ConfigReader& text, const std::string& family, bool experts) {
  // Layers for predicting further tokens are left out.
  for (const char* unused : {"mtp_num_hidden_layers", "mtp_use_dedicated_embeddings"}) {
    text.has(unused);
  }
  text.require("attn_output_gate", {true});
  text.require("mlp_only_layers", {Json::array()});
  text.require("decoder_sparse_step", {1});
  text.require("norm_topk_prob", {true});
  const HybridConfig c = read_hybrid(
      text, family, experts ? std::optional(text.count("moe_intermediate_size")) : std::nullopt);
  std::vector<std::shared_ptr<const Part>> mlps;
  for (int i = 0; i < c.dense.model.layers; i++) {
    mlps.push_back(
        experts ? hybrid_experts(text, c, i, true, ModuleKind::all_experts)
                : std::make_shared<GatedMlp>(mlp_of(c.dense, i)));
  }
  DecoderSpec spec = hybrid_decoder(c, mlps);
  spec.chosen_experts = experts ? text.count("num_experts_per_tok") : 0;
  text.require_known_keys();
  return spec;
}

// What of config.json still holds of a model without what is left out.
Json kept(Json json) {
  json.erase("vision_config");
  Json& text = json.contains("text_config") ? json.at("text_config") : json;
  if (text.contains("mtp_num_hidden_layers")) {
    text["mtp_num_hidden_layers"] = 0;
  }
  return json;
}

std::shared_ptr<const Model>
make(const ConfigReader& reader, const std::string& family, bool experts) {
  const bool wrapped = reader.has("text_config");
  if (!wrapped) {
    DecoderSpec spec = text_model(reader, family, experts);
    spec.config.json = kept(reader.json()).dump();
    return std::make_shared<Decoder>(std::move(spec));
  }
  const Json text = wrapped_text(
      reader,
      {"vision_config",
       "image_token_id",
       "video_token_id",
       "vision_start_token_id",
       "vision_end_token_id"});
  const ConfigReader inner(text, reader.where() + ": text_config");
  inner.require("model_type", {family + "_text"});
  inner.has("architectures");
  DecoderSpec spec = text_model(inner, family, experts);
  spec.config.json = kept(reader.json()).dump();
  spec.config.left_out.push_back({"model.visual.", "the vision tower: text only"});
  spec.stored_name = stored;
  return std::make_shared<Decoder>(std::move(spec));
}

}  // namespace

std::shared_ptr<const Model> make_qwen3_5(const ConfigReader& reader) {
  return make(reader, "qwen3_5", false);
}

std::shared_ptr<const Model> make_qwen3_5_moe(const ConfigReader& reader) {
  return make(reader, "qwen3_5_moe", true);
}

}  // namespace atelier
