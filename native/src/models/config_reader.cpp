#include "models/config_reader.h"

#include "core/error.h"
#include "core/text.h"
#include "models/config_keys.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace atelier {

const Json* ConfigReader::find(const char* key) const {
  auto found = json_.find(key);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

void ConfigReader::unsupported(const std::string& what, const std::string& hint) const {
  throw Error(ErrorCode::unsupported_model, where_ + ": " + what + " is not supported", hint);
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

void ConfigReader::require_known_keys() const {
  for (const auto& [key, value] : json_.items()) {
    const bool off = value.is_null() || value == false || value == "" ||
                     (value.is_structured() && value.empty());
    if (!off && !is_read_key(key) && !is_harmless_key(key)) {
      unsupported(
          quoted(key) + " = " + value.dump().substr(0, 80),
          "It may change what the model computes. Where it does not, take it out of config.json.");
    }
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
  static const std::set<std::string> plain = {
      "rope_theta", "rope_type", "type", "partial_rotary_factor"};
  static const std::set<std::string> llama3 = {
      "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"};
  for (const auto& [key, value] : (scaling ? *scaling : none).items()) {
    if (value.is_object()) {
      unsupported("rope by layer type (" + quoted(key) + ")");
    }
    if (!value.is_null() && !plain.count(key) && !(type == "llama3" && llama3.count(key))) {
      unsupported("rope with " + quoted(key) + " = " + value.dump().substr(0, 80));
    }
  }
  if (rope.number("partial_rotary_factor", number("partial_rotary_factor", 1.0)) != 1.0) {
    unsupported("partial_rotary_factor other than 1");
  }
  if (!(config.rope_theta > 1) || !std::isfinite(config.rope_theta)) {
    invalid("rope_theta must be above 1");
  }
}

void ConfigReader::require_features() const {
  require("hidden_act", {"silu"});
  require("attention_bias", {false});
  require("mlp_bias", {false});
  require("attention_dropout", {0, 0.0});
  require("use_sliding_window", {false});
  require("is_encoder_decoder", {false});
  // Into how many parts transformers once cut the products: the order of sums, not what is computed.
  count("pretraining_tp", 1);
  for (const char* key : {"quantization_config", "quantization"}) {
    if (find(key)) {
      unsupported(std::string("a quantised checkpoint (") + key + ")");
    }
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
}

ModelConfig ConfigReader::dense(const std::string& family, std::optional<int> default_head_dim)
    const {
  require_features();
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
  check(c);
  require_known_keys();
  return c;
}

void ConfigReader::check(const ModelConfig& c) const {
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
  // Computed in f32, where a smaller one would be 0.
  if (!(c.norm_epsilon >= 1e-30 && c.norm_epsilon < 1)) {
    invalid("rms_norm_eps must be above 0 and below 1");
  }
  if (!(c.initializer_range >= 0 && c.initializer_range < 10)) {
    invalid("initializer_range must be from 0 to 10");
  }
  const Json* eos = find("eos_token_id");
  for (const Json& id : !eos ? Json::array() : eos->is_array() ? *eos : Json::array({*eos})) {
    if (!id.is_number_integer() || id < 0 || id >= c.vocabulary) {
      invalid(
          "eos_token_id " + id.dump().substr(0, 80) + " is no token of a vocabulary of " +
          std::to_string(c.vocabulary));
    }
  }
}

}  // namespace atelier
