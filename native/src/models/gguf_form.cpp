// Keys: ggml's docs/gguf.md; what llama.cpp takes for granted: src/models/ and src/llama-model.cpp.
#include "models/gguf_form.h"

#include "core/text.h"
#include "models/config_reader.h"
#include "models/gguf_names.h"

#include <cmath>
#include <map>
#include <optional>

namespace atelier {
namespace {

using Type = GgufEntry::Type;

[[noreturn]] void unsupported(const std::string& what) {
  throw Error(
      ErrorCode::unsupported_model,
      what + " cannot be written as GGUF",
      "Export it merged, as safetensors.");
}

struct Written {
  const ConfigReader& reader;
  const DenseConfig& dense;
  const std::string& architecture;
  GgufForm& form;

  void number(const std::string& key, double value, Type type = Type::u32) const {
    form.metadata.push_back({architecture + "." + key, type, value});
  }
  void text(const std::string& key, const std::string& value) const {
    form.metadata.push_back({architecture + "." + key, Type::text, 0, value});
  }
};

// The rope of layers that see everything.
const Json& rope_parameters(const ConfigReader& reader) {
  const Json& now = reader.value("rope_parameters");
  if (now.is_null()) {
    return reader.value("rope_scaling");
  }
  return now.contains("full_attention") ? now["full_attention"] : now;
}

void add_rope(const Written& w, double default_theta, bool divides) {
  static const Json none = Json::object();
  const Json& json = rope_parameters(w.reader);
  const ConfigReader rope(json.is_object() ? json : none, "config.json: rope");
  const double theta = rope.number("rope_theta", w.reader.number("rope_theta", default_theta));
  const std::string type = rope.text("rope_type", rope.text("type", "default"));
  w.number("rope.freq_base", theta, Type::f32);
  w.number("rope.dimension_count", w.dense.head_dim);
  if (type == "linear") {
    w.text("rope.scaling.type", type);
    w.number("rope.scaling.factor", rope.number("factor"), Type::f32);
  } else if (type == "llama3" && divides) {
    const Rope scaled =
        w.reader.rope_of(json, w.dense.head_dim, w.dense.model.context, default_theta);
    for (int i = 0; i < w.dense.head_dim; i += 2) {
      const double plain = std::pow(theta, -double(i) / w.dense.head_dim);
      w.form.divisors.push_back(static_cast<float>(plain / scaled.inv_freq[i / 2]));
    }
  } else if (type != "default") {
    unsupported("a rope of the type " + quoted(type) + " in a model of this family");
  }
}

void require_no_window(const Written& w) {
  // Left out: the class's own.
  const bool stated = w.reader.stated("sliding_window");
  const int window =
      w.reader.has("sliding_window") || !stated ? w.reader.count("sliding_window", 4096) : 0;
  if (window > 0 && window < w.dense.model.context) {
    unsupported(
        "a sliding window of " + std::to_string(window) + " tokens in a context of " +
        std::to_string(w.dense.model.context) + ", which llama.cpp's " + quoted(w.architecture) +
        " does not have,");
  }
}

void require_every_fourth(const Written& w) {
  const int interval = w.reader.count("no_rope_layer_interval", 4);
  std::vector<int> rotated, usual;
  for (int i = 0; i < w.dense.model.layers; i++) {
    rotated.push_back((i + 1) % interval != 0);
    usual.push_back((i + 1) % 4 != 0);
  }
  rotated = w.reader.whole_numbers("no_rope_layers", rotated);
  rotated.resize(usual.size());
  if (rotated != usual) {
    unsupported("a SmolLM3 whose layers without rotation are others than every fourth");
  }
}

void add_gemma3(const Written& w) {
  const DenseConfig& c = w.dense;
  const int pattern =
      w.reader.count("sliding_window_pattern", w.reader.count("_sliding_window_pattern", 6));
  std::vector<bool> sliding, usual;
  for (int i = 0; i < c.model.layers; i++) {
    sliding.push_back((i + 1) % pattern != 0);
    usual.push_back((i + 1) % 6 != 0);
  }
  if (w.reader.sliding_layers(c.model.layers, sliding) != usual) {
    unsupported("a Gemma 3 whose layers without a window are others than every sixth");
  }
  const int scaled_by = c.model.layers == 62 ? c.model.hidden / c.heads : c.head_dim;
  if (w.reader.number("query_pre_attn_scalar", 256) != scaled_by) {
    unsupported("a Gemma 3 whose query_pre_attn_scalar is not " + std::to_string(scaled_by));
  }
  const Json& now = w.reader.value("rope_parameters");
  const Json local = now.is_object() ? now.value("sliding_attention", Json()) : Json();
  const double theta = local.is_object() && local.contains("rope_theta")
                           ? local["rope_theta"].get<double>()
                           : w.reader.number("rope_local_base_freq", 10000.0);
  if (theta != 10000.0 || (local.is_object() && local.value("rope_type", "default") != "default")) {
    unsupported("a Gemma 3 whose layers with a window rotate by another base than 10000");
  }
  w.number("attention.sliding_window", w.reader.count("sliding_window", 4096));
}

void add_experts(const Written& w) {
  const MixtureConfig m = w.reader.mixture();
  if (!w.reader.flag("norm_topk_prob", false)) {
    unsupported("a mixture whose shares are not normalised (norm_topk_prob = false)");
  }
  if (w.reader.count("decoder_sparse_step", 1) != 1 ||
      !w.reader.whole_numbers("mlp_only_layers", {}).empty()) {
    unsupported("a mixture with layers without experts");
  }
  w.number("expert_count", m.experts);
  w.number("expert_used_count", m.chosen);
  w.number("expert_feed_forward_length", m.intermediate);
  w.form.experts = m.experts;
}

struct GgufFamily {
  /** Where the configuration leaves them out. */
  double theta = 10000.0;
  std::optional<int> head_dim = std::nullopt;
  /** Its layers divide the rotary frequencies by the tensor gguf_rope_scaling. */
  bool divides = false;
  void (*add)(const Written&) = nullptr;
};

const std::map<std::string, GgufFamily> gguf_families = {
    {"llama", {.divides = true}},
    {"mistral", {.divides = true, .add = require_no_window}},
    {"qwen2", {}},
    {"qwen3", {.head_dim = 128}},
    {"qwen3_moe", {.add = add_experts}},
    {"smollm3", {.theta = 2'000'000.0, .add = require_every_fourth}},
    {"gemma3_text", {.theta = 1'000'000.0, .head_dim = 256, .add = add_gemma3}}};

}  // namespace

GgufForm gguf_form(const ModelConfig& config, const std::string& type) {
  const auto family = gguf_families.find(config.family);
  if (family == gguf_families.end()) {
    throw Error(
        ErrorCode::unsupported_model,
        "a model of the family " + quoted(config.family) + " cannot be written as GGUF",
        "Export it merged, as safetensors, and convert that with llama.cpp.");
  }
  const Json json = Json::parse(config.json);
  const ConfigReader reader(json, "config.json");
  const DenseConfig c = reader.dense(config.family, {.head_dim = family->second.head_dim});
  GgufForm form;
  form.heads = c.heads;
  form.kv_heads = c.kv_heads;
  const std::string architecture = gguf_architecture(config.family);
  const Written w{reader, c, architecture, form};
  auto general = [&](const char* key, Type as, double value, const std::string& text = "") {
    form.metadata.push_back({std::string("general.") + key, as, value, text});
  };
  general("architecture", Type::text, 0, architecture);
  general("type", Type::text, 0, "model");
  general("file_type", Type::u32, type == "F32" ? 0 : type == "F16" ? 1 : 7);
  general("quantization_version", Type::u32, 2);
  w.number("block_count", c.model.layers);
  w.number("context_length", c.model.context);
  w.number("embedding_length", c.model.hidden);
  w.number("feed_forward_length", c.intermediate);
  w.number("attention.head_count", c.heads);
  w.number("attention.head_count_kv", c.kv_heads);
  w.number("attention.key_length", c.head_dim);
  w.number("attention.value_length", c.head_dim);
  w.number("attention.layer_norm_rms_epsilon", c.norm_epsilon, Type::f32);
  w.number("vocab_size", c.model.vocabulary);
  add_rope(w, family->second.theta, family->second.divides);
  if (family->second.add) {
    family->second.add(w);
  }
  return form;
}

std::optional<Error> gguf_refusal(const ModelConfig& config) {
  try {
    gguf_form(config, "F32");
    return std::nullopt;
  } catch (const Error& error) {
    if (error.code != ErrorCode::unsupported_model) {
      throw;
    }
    return error;
  }
}

}  // namespace atelier
