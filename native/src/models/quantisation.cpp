#include "models/quantisation.h"

#include "core/error.h"
#include "core/text.h"

#include <set>

namespace atelier {
namespace {

const std::set<int> all_bits = {2, 3, 4, 5, 6, 8};
const std::set<int> all_groups = {32, 64, 128};

[[noreturn]] void unsupported(const std::string& where, const std::string& what) {
  throw Error(
      ErrorCode::unsupported_model,
      where + ": " + what + " is not supported",
      "Quantised checkpoints are read in MLX's affine form (mlx_lm.convert -q) and as GGUF.");
}

Quantisation read_form(const Json& json, const std::string& at, const std::string& where) {
  auto number = [&](const char* key) {
    if (!json.contains(key) || !json[key].is_number_integer() || json[key] < 0 ||
        json[key] > 1024) {
      throw Error(
          ErrorCode::invalid_file,
          where + ": " + at + ": " + quoted(key) + " must be a whole number");
    }
    return json[key].get<int>();
  };
  if (json.contains("mode") && json["mode"] != "affine") {
    unsupported(where, at + ": mode " + json["mode"].dump().substr(0, 80));
  }
  const Quantisation form{number("bits"), number("group_size")};
  if (!all_bits.count(form.bits) || !all_groups.count(form.group)) {
    unsupported(
        where,
        at + ": " + std::to_string(form.bits) + " bits in groups of " + std::to_string(form.group));
  }
  return form;
}

}  // namespace

void require_quantisation(const Quantisation& form) {
  if (!all_bits.count(form.bits)) {
    throw Error(
        ErrorCode::invalid_argument,
        "quantize.bits is " + std::to_string(form.bits) + "; it is one of 2, 3, 4, 5, 6, 8");
  }
  if (!all_groups.count(form.group)) {
    throw Error(
        ErrorCode::invalid_argument,
        "quantize.groupSize is " + std::to_string(form.group) + "; it is one of 32, 64, 128");
  }
}

std::optional<Quantisation> QuantisedConfig::of(const std::string& module) const {
  auto found = overrides.find(module);
  return found == overrides.end() ? std::optional(standard) : found->second;
}

std::optional<QuantisedConfig> read_quantisation(const Json& config, const std::string& where) {
  const char* key = nullptr;
  if (!config.is_object()) {
    return std::nullopt;
  }
  // mlx-lm writes both, the same; it reads the first.
  for (const char* each : {"quantization_config", "quantization"}) {
    if (config.contains(each) && !config[each].is_null()) {
      key = each;
    }
  }
  if (!key) {
    return std::nullopt;
  }
  const Json& json = config[key];
  if (!json.is_object()) {
    throw Error(ErrorCode::invalid_file, where + ": " + quoted(key) + " must be an object");
  }
  if (json.contains("quant_method")) {
    unsupported(where, "quant_method " + json["quant_method"].dump().substr(0, 80));
  }
  if (!json.contains("bits")) {
    unsupported(where, std::string(key) + " = " + json.dump().substr(0, 80));
  }
  QuantisedConfig out{read_form(json, key, where), {}};
  for (const auto& [name, value] : json.items()) {
    if (name == "bits" || name == "group_size" || name == "mode") {
      continue;
    }
    if (value.is_object()) {
      out.overrides.emplace(name, read_form(value, name, where));
    } else if (value == false) {
      out.overrides.emplace(name, std::nullopt);
    } else if (value != true) {
      unsupported(where, std::string(key) + "." + name + " = " + value.dump().substr(0, 80));
    }
  }
  return out;
}

}  // namespace atelier
