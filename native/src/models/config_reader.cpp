#include "models/config_reader.h"

#include "core/error.h"
#include "core/text.h"
#include "models/config_keys.h"

#include <algorithm>

namespace atelier {

const Json* ConfigReader::find(const char* key) const {
  read_.insert(key);
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

bool ConfigReader::has(const char* key) const {
  return find(key) != nullptr;
}

const Json& ConfigReader::value(const char* key) const {
  static const Json absent;
  const Json* found = find(key);
  return found ? *found : absent;
}

std::vector<int> ConfigReader::whole_numbers(const char* key, const std::vector<int>& otherwise)
    const {
  const Json* value = find(key);
  if (!value) {
    return otherwise;
  }
  std::vector<int> out;
  for (const Json& item : value->is_array() ? *value : Json::array({nullptr})) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > INT32_MAX) {
      invalid(quoted(key) + " must be a list of whole numbers");
    }
    out.push_back(item.get<int>());
  }
  return out;
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
    if (!off && !read_.count(key) && !is_harmless_key(key)) {
      unsupported(
          quoted(key) + " = " + value.dump().substr(0, 80),
          "It may change what the model computes. Where it does not, take it out of config.json.");
    }
  }
}

// Labels as PreTrainedConfig of transformers 5.24.0 counts them: id2label's, else num_labels, else two.
bool ConfigReader::scalar_head() const {
  const Json& architectures = value("architectures");
  const Json name = architectures.is_array() && !architectures.empty() ? architectures[0] : Json();
  if (!name.is_string() || !is_classifier(name.get<std::string>())) {
    return false;
  }
  const Json& labels = value("id2label");
  const int count =
      labels.is_object() ? static_cast<int>(labels.size()) : this->count("num_labels", 2);
  if (count != 1) {
    unsupported(
        "a classifier with " + std::to_string(count) + " labels (num_labels)",
        "A reward model has one: its score.");
  }
  return true;
}

std::optional<int> ConfigReader::pad_token() const {
  const Json& id = value("pad_token_id");
  return id.is_number_integer() && id >= 0 && id <= INT32_MAX ? std::optional(id.get<int>())
                                                              : std::nullopt;
}

ModelConfig ConfigReader::model(const std::string& family, bool tied_by_default) const {
  require("is_encoder_decoder", {false});
  require("attention_dropout", {0, 0.0});
  // Of models that embed texts: each position sees the ones after it too.
  for (const char* key : {"is_causal", "causal"}) {
    require(key, {true});
  }
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
  ModelConfig c{};
  c.family = family;
  c.vocabulary = count("vocab_size");
  c.hidden = count("hidden_size");
  c.layers = count("num_hidden_layers");
  c.context = count("max_position_embeddings");
  c.tied = flag("tie_word_embeddings", tied_by_default);
  c.initializer_range = number("initializer_range", 0.02);
  c.scalar_head = scalar_head();
  if (c.scalar_head) {
    c.left_out.push_back({"lm_head.", "a head over the vocabulary"});
  }
  c.pad_token = pad_token();
  c.json = json_.dump();
  if (c.layers > 10'000 || c.hidden > 1'000'000) {
    invalid("sizes beyond any model that can be run");
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
  return c;
}

DenseConfig ConfigReader::dense(const std::string& family, const DenseDefaults& defaults) const {
  DenseConfig c{model(family, defaults.tied), 0, 0, 0, 0, 0};
  c.intermediate = count("intermediate_size", defaults.intermediate);
  c.heads = count("num_attention_heads");
  c.kv_heads = count("num_key_value_heads", c.heads);
  c.head_dim = count("head_dim", defaults.head_dim.value_or(std::max(1, c.model.hidden / c.heads)));
  c.norm_epsilon = number("rms_norm_eps", 1e-6);
  if (c.heads % c.kv_heads != 0) {
    invalid("num_attention_heads is no multiple of num_key_value_heads");
  }
  if (c.head_dim % 2 != 0) {
    invalid("head_dim is odd");
  }
  if (int64_t{c.heads} * c.head_dim > 1'000'000 || c.intermediate > 10'000'000) {
    invalid("sizes beyond any model that can be run");
  }
  // Computed in f32, where a smaller one would be 0.
  if (!(c.norm_epsilon >= 1e-30 && c.norm_epsilon < 1)) {
    invalid("rms_norm_eps must be above 0 and below 1");
  }
  return c;
}

MixtureConfig ConfigReader::mixture() const {
  MixtureConfig m{0, 0, 0};
  m.experts = has("num_experts") ? count("num_experts") : count("num_local_experts");
  m.chosen = count("num_experts_per_tok");
  m.intermediate = count("moe_intermediate_size");
  if (has("num_experts") && count("num_local_experts", m.experts) != m.experts) {
    invalid("num_experts and num_local_experts differ");
  }
  if (m.chosen > m.experts) {
    invalid("num_experts_per_tok is more than there are experts");
  }
  if (m.experts > 10'000 || int64_t{m.experts} * count("num_hidden_layers") > 1'000'000 ||
      m.intermediate > 10'000'000) {
    invalid("sizes beyond any model that can be run");
  }
  return m;
}

std::vector<bool> ConfigReader::sliding_layers(int layers, const std::vector<bool>& otherwise)
    const {
  const Json* types = find("layer_types");
  if (!types) {
    return otherwise;
  }
  if (!types->is_array() || types->size() != static_cast<size_t>(layers)) {
    invalid("layer_types must be a list with one entry a layer");
  }
  std::vector<bool> out;
  for (const Json& type : *types) {
    if (type != "full_attention" && type != "sliding_attention") {
      unsupported("layer type " + type.dump().substr(0, 80));
    }
    out.push_back(type == "sliding_attention");
  }
  return out;
}

}  // namespace atelier
