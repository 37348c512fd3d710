#include "core/error.h"
#include "core/text.h"
#include "io/file.h"
#include "io/json.h"
#include "io/peft.h"

#include <set>

namespace atelier {
namespace {

// Fields of peft 0.21.2's LoraConfig that change nothing in what an adapter computes.
const std::set<std::string> without_effect = {
    "auto_mapping",
    "base_model_name_or_path",
    "inference_mode",
    "lora_dropout",
    "megatron_core",
    "peft_type",
    "peft_version",
    "qalora_group_size",
    "revision",
    "task_type",
    "corda_config",
    "eva_config",
    "loftq_config",
    "lora_ga_config",
    "runtime_config",
    "layers_pattern"};
const std::set<std::string> read_here = {
    "r",
    "lora_alpha",
    "target_modules",
    "target_parameters",
    "use_rslora",
    "rank_pattern",
    "alpha_pattern",
    "layers_to_transform",
    "modules_to_save",
    "bias",
    "init_lora_weights",
    "use_dora",
    "ensure_weight_tying"};

bool is_off(const Json& value) {
  return value.is_null() || value == false ||
         ((value.is_array() || value.is_object()) && value.empty());
}

// Other numbers would be cut to an int without a word.
bool is_int(const Json& value) {
  return value.is_number_integer() && value >= 0 && value <= INT32_MAX;
}

int get_int(const Json& value, const char* key, const std::string& file) {
  if (!is_int(value)) {
    throw Error(ErrorCode::invalid_file, file + ": " + quoted(key) + " must be a whole number");
  }
  return value.get<int>();
}

template <class T>
T get(const Json& json, const char* key, const std::string& file) {
  try {
    return json.at(key).get<T>();
  } catch (const Json::exception&) {
    throw Error(
        ErrorCode::invalid_file, file + ": " + quoted(key) + " is missing or has the wrong type");
  }
}

template <class T>
std::vector<std::pair<std::string, T>>
get_pattern(const Json& json, const char* key, const std::string& file) {
  std::vector<std::pair<std::string, T>> out;
  if (!json.contains(key) || json[key].is_null()) {
    return out;
  }
  if (!json[key].is_object()) {
    throw Error(ErrorCode::invalid_file, file + ": " + quoted(key) + " must be an object");
  }
  for (const auto& [name, value] : json[key].items()) {
    if (std::is_integral_v<T> ? !is_int(value) : !value.is_number()) {
      throw Error(
          ErrorCode::invalid_file,
          file + ": " + quoted(key) + ": " + quoted(name) + " must be a " +
              (std::is_integral_v<T> ? "whole number" : "number"));
    }
    out.emplace_back(name, value.template get<T>());
  }
  return out;
}

}  // namespace

LoraConfig read_lora_config(const std::string& file) {
  const Json json = parse_json(read_text(file, 10'000'000), file, 16);
  if (!json.is_object()) {
    throw Error(ErrorCode::invalid_file, file + ": is not a JSON object");
  }
  auto unsupported = [&](const std::string& what) {
    throw Error(ErrorCode::unsupported_model, file + ": " + what + " is not supported");
  };
  if (get<std::string>(json, "peft_type", file) != "LORA") {
    unsupported("peft_type " + quoted(json["peft_type"].get<std::string>()));
  }
  for (const auto& [key, value] : json.items()) {
    if (without_effect.count(key) || read_here.count(key) || is_off(value)) {
      continue;
    }
    unsupported(quoted(key) + " = " + value.dump().substr(0, 80));
  }
  if (json.contains("bias") && json["bias"] != "none") {
    unsupported("a trained bias (bias = " + json["bias"].dump() + ")");
  }
  // PiSSA, OLoRA, CorDA and LoftQ change the base weights; an adapter saved without conversion needs those.
  if (json.contains("init_lora_weights") && json["init_lora_weights"].is_string() &&
      json["init_lora_weights"] != "gaussian" && json["init_lora_weights"] != "orthogonal" &&
      json["init_lora_weights"] != "eva") {
    unsupported("init_lora_weights = " + json["init_lora_weights"].dump());
  }
  if (json.contains("layers_pattern") && !is_off(json["layers_pattern"]) &&
      json["layers_pattern"] != "layers" && json["layers_pattern"] != Json::array({"layers"})) {
    unsupported("layers_pattern = " + json["layers_pattern"].dump());
  }
  LoraConfig config;
  if (json.contains("modules_to_save") && !is_off(json["modules_to_save"])) {
    // PEFT asks for both names for a sequence classifier; a model has one of them.
    for (const auto& module : get<std::vector<std::string>>(json, "modules_to_save", file)) {
      if (module == "score") {
        config.scalar_head = true;
      } else if (module != "classifier") {
        config.modules_to_save.push_back(module);
      }
    }
  }
  config.rank = get_int(get<Json>(json, "r", file), "r", file);
  config.alpha = get<double>(json, "lora_alpha", file);
  if (json.contains("target_parameters") && !is_off(json["target_parameters"])) {
    config.target_parameters = get<std::vector<std::string>>(json, "target_parameters", file);
  }
  const Json& target = json.contains("target_modules") ? json["target_modules"] : Json();
  if (target.is_string()) {
    config.target_modules = target.get<std::string>();
  } else if (!is_off(target) || config.target_parameters.empty()) {
    config.target_modules = get<std::vector<std::string>>(json, "target_modules", file);
  }
  auto flag = [&](const char* key) { return json.contains(key) && get<bool>(json, key, file); };
  config.rslora = flag("use_rslora");
  config.dora = flag("use_dora");
  config.ensure_weight_tying = flag("ensure_weight_tying");
  config.rank_pattern = get_pattern<int>(json, "rank_pattern", file);
  config.alpha_pattern = get_pattern<double>(json, "alpha_pattern", file);
  if (json.contains("layers_to_transform") && !json["layers_to_transform"].is_null()) {
    const Json& layers = json["layers_to_transform"];
    config.layers_to_transform.emplace();
    for (const Json& layer : layers.is_array() ? layers : Json::array({layers})) {
      config.layers_to_transform->push_back(get_int(layer, "layers_to_transform", file));
    }
  }
  return config;
}

}  // namespace atelier
