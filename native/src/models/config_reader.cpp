#include "models/config_reader.h"

#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <cmath>

namespace atelier {

const Json* ConfigReader::find(const char* key) const {
  auto found = json_.find(key);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

void ConfigReader::unsupported(const std::string& what) const {
  throw Error(ErrorCode::unsupported_model, where_ + ": " + what + " is not supported");
}

void ConfigReader::invalid(const std::string& rule) const {
  throw Error(ErrorCode::invalid_file, where_ + ": " + rule);
}

int ConfigReader::count(const char* key, std::optional<int> otherwise) const {
  const Json* value = find(key);
  if (!value && otherwise) {
    return *otherwise;
  }
  if (!value || !value->is_number_unsigned() || value->get<uint64_t>() < 1 ||
      value->get<uint64_t>() > INT32_MAX) {
    invalid(quoted(key) + " must be a whole number from 1 to 2^31 - 1");
  }
  return value->get<int>();
}

double ConfigReader::number(const char* key, std::optional<double> otherwise) const {
  const Json* value = find(key);
  if (!value && otherwise) {
    return *otherwise;
  }
  if (!value || !value->is_number()) {
    invalid(quoted(key) + " must be a number");
  }
  return value->get<double>();
}

bool ConfigReader::flag(const char* key, bool otherwise) const {
  const Json* value = find(key);
  if (value && !value->is_boolean()) {
    invalid(quoted(key) + " must be true or false");
  }
  return value ? value->get<bool>() : otherwise;
}

std::string ConfigReader::text(const char* key, const std::string& otherwise) const {
  const Json* value = find(key);
  if (value && !value->is_string()) {
    invalid(quoted(key) + " must be a string");
  }
  return value ? value->get<std::string>() : otherwise;
}

void ConfigReader::require(const char* key, const std::vector<Json>& allowed) const {
  const Json* value = find(key);
  if (value && std::find(allowed.begin(), allowed.end(), *value) == allowed.end()) {
    unsupported(std::string(key) + " = " + value->dump().substr(0, 80));
  }
}

void ConfigReader::read_rope(ModelConfig& config) const {
  // transformers 5 writes rope_parameters; older files have rope_theta and rope_scaling (null = default).
  const Json* parameters = find("rope_parameters");
  const Json* scaling = parameters ? parameters : find("rope_scaling");
  static const Json none = Json::object();
  if (scaling && !scaling->is_object()) {
    invalid("rope_parameters and rope_scaling must be objects");
  }
  const ConfigReader rope(scaling ? *scaling : none, where_ + ": rope");
  const double default_theta = number("rope_theta", 10000.0);
  config.rope_theta = rope.number("rope_theta", default_theta);
  const std::string type = rope.text("rope_type", rope.text("type", "default"));
  if (type == "llama3") {
    config.rope_llama3 = Llama3Rope{
        rope.number("factor"),
        rope.number("low_freq_factor"),
        rope.number("high_freq_factor"),
        rope.number("original_max_position_embeddings", config.context)};
    const Llama3Rope& r = *config.rope_llama3;
    if (!(r.factor > 0) || !(r.low_freq_factor > 0) || !(r.high_freq_factor > r.low_freq_factor) ||
        !(r.original_context > 0)) {
      invalid("rope of type llama3 has senseless factors");
    }
  } else if (type != "default") {
    unsupported("rope type " + quoted(type));
  }
  for (const auto& [key, value] : (scaling ? *scaling : none).items()) {
    if (value.is_object()) {
      unsupported("rope by layer type (" + quoted(key) + ")");
    }
  }
  if (rope.number("partial_rotary_factor", number("partial_rotary_factor", 1.0)) != 1.0) {
    unsupported("partial_rotary_factor other than 1");
  }
  if (!(config.rope_theta > 1) || !std::isfinite(config.rope_theta)) {
    invalid("rope_theta must be above 1");
  }
}

ModelConfig ConfigReader::dense(const std::string& family, std::optional<int> default_head_dim)
    const {
  require("hidden_act", {"silu"});
  require("attention_bias", {false});
  require("mlp_bias", {false});
  require("attention_dropout", {0, 0.0});
  require("use_sliding_window", {false});
  require("is_encoder_decoder", {false});
  if (find("quantization_config")) {
    unsupported("a quantised checkpoint (quantization_config)");
  }
  if (find("auto_map")) {
    unsupported("code that comes with a checkpoint (auto_map)");
  }
  if (const Json* types = find("layer_types")) {
    if (!types->is_array()) {
      invalid("layer_types must be a list");
    }
    for (const Json& type : *types) {
      if (type != "full_attention") {
        unsupported("layer type " + type.dump().substr(0, 80));
      }
    }
  }
  ModelConfig c{};
  c.family = family;
  c.vocabulary = count("vocab_size");
  c.hidden = count("hidden_size");
  c.intermediate = count("intermediate_size");
  c.layers = count("num_hidden_layers");
  c.heads = count("num_attention_heads");
  c.kv_heads = count("num_key_value_heads", c.heads);
  c.head_dim = count(
      "head_dim",
      default_head_dim ? default_head_dim : std::optional(std::max(1, c.hidden / c.heads)));
  c.context = count("max_position_embeddings");
  c.tied = flag("tie_word_embeddings", false);
  c.norm_epsilon = number("rms_norm_eps", 1e-6);
  c.initializer_range = number("initializer_range", 0.02);
  read_rope(c);
  if (c.heads % c.kv_heads != 0) {
    invalid("num_attention_heads is no multiple of num_key_value_heads");
  }
  if (c.head_dim % 2 != 0) {
    invalid("head_dim is odd");
  }
  if (c.layers > 10'000 || int64_t{c.heads} * c.head_dim > 1'000'000 || c.hidden > 1'000'000 ||
      c.intermediate > 10'000'000) {
    invalid("sizes beyond any model that can be run");
  }
  if (!(c.norm_epsilon >= 0 && c.norm_epsilon < 1) ||
      !(c.initializer_range >= 0 && c.initializer_range < 10)) {
    invalid("rms_norm_eps or initializer_range is out of range");
  }
  return c;
}

}  // namespace atelier
