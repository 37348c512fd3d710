#include "io/peft.h"

#include "core/error.h"
#include "core/text.h"
#include "io/file.h"
#include "io/json.h"
#include "io/safetensors.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>

namespace atelier {
namespace {

const std::string prefix = "base_model.model.";

std::regex pattern(const std::string& text, const char* field) {
  try {
    return std::regex(text, std::regex::ECMAScript);
  } catch (const std::regex_error& e) {
    throw Error(
        ErrorCode::invalid_argument,
        std::string("LoRA: ") + field + ": " + quoted(text) +
            " is not a regular expression that is understood here");
  }
}

bool ends_with_part(const std::string& name, const std::string& suffix) {
  return name == suffix || (name.size() > suffix.size() &&
                            name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0 &&
                            name[name.size() - suffix.size() - 1] == '.');
}

// peft.utils.other.get_pattern_key: re.match(rf"(.*\.)?({key})$", name), the first key that matches.
template <class T>
T by_pattern(
    const std::vector<std::pair<std::string, T>>& patterns,
    const char* field,
    const std::string& name,
    T otherwise) {
  for (const auto& [key, value] : patterns) {
    if (std::regex_match(name, pattern("(?:.*\\.)?(?:" + key + ")", field))) {
      return value;
    }
  }
  return otherwise;
}

// peft: re.match(r".*?\.[^.]*\.(?P<idx>\d+)\.", name): the first segment that is a number, from the third on.
std::optional<int> layer_of(const std::string& name) {
  static const std::regex index(R"(^.*?\.[^.]*\.(\d+)\.)");
  std::smatch found;
  return std::regex_search(name, found, index) ? std::optional(std::stoi(found[1])) : std::nullopt;
}

bool targets(const LoraConfig& config, const std::string& name) {
  if (const auto* text = std::get_if<std::string>(&config.target_modules)) {
    return std::regex_match(name, pattern(*text, "target_modules"));
  }
  const auto& suffixes = std::get<std::vector<std::string>>(config.target_modules);
  if (!std::any_of(suffixes.begin(), suffixes.end(), [&](const auto& s) {
        return ends_with_part(name, s);
      })) {
    return false;
  }
  // PEFT looks at the layers only where a suffix matched (not where the whole name is given).
  if (!config.layers_to_transform || config.layers_to_transform->empty() ||
      std::find(suffixes.begin(), suffixes.end(), name) != suffixes.end()) {
    return true;
  }
  const std::optional<int> layer = layer_of(name);
  const auto& layers = *config.layers_to_transform;
  return layer && std::find(layers.begin(), layers.end(), *layer) != layers.end();
}

bool is_all_linear(const LoraConfig& config) {
  const auto* text = std::get_if<std::string>(&config.target_modules);
  if (!text) {
    return false;
  }
  std::string lower = *text;
  std::transform(
      lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower == "all-linear";
}

}  // namespace

LoraSites lora_sites(const LoraConfig& config, const std::vector<LinearModule>& modules) {
  if (config.layers_to_transform && std::holds_alternative<std::string>(config.target_modules)) {
    throw Error(
        ErrorCode::invalid_argument,
        "LoRA: layers_to_transform cannot be used where target_modules is one string");
  }
  const bool all = is_all_linear(config);
  for (const char* name : {"model.embed_tokens", "lm_head"}) {
    if (!all && targets(config, name)) {
      throw Error(
          ErrorCode::unsupported_model,
          std::string("LoRA on ") + name + " is not supported",
          "Choose among the linear modules of the layers, e.g. \"all-linear\".");
    }
  }
  LoraSites sites;
  for (const LinearModule& module : modules) {
    if (!all && !targets(config, module.name)) {
      continue;
    }
    const int rank = by_pattern(config.rank_pattern, "rank_pattern", module.name, config.rank);
    const double alpha =
        by_pattern(config.alpha_pattern, "alpha_pattern", module.name, config.alpha);
    if (rank < 1 || rank > 65536 || !std::isfinite(alpha)) {
      throw Error(
          ErrorCode::invalid_argument,
          "LoRA: rank " + std::to_string(rank) + ", alpha " + std::to_string(alpha) + " for " +
              module.name + ": the rank must be from 1 to 65536 and alpha finite");
    }
    const double scale = alpha / (config.rslora ? std::sqrt(double(rank)) : double(rank));
    sites.emplace(module.name, LoraSite{rank, static_cast<float>(scale)});
  }
  if (sites.empty()) {
    throw Error(
        ErrorCode::invalid_argument,
        "LoRA: target_modules match no module of the model",
        modules.empty() ? "" : "Modules are named like " + modules.front().name + ".");
  }
  return sites;
}

Adapter load_adapter(const std::string& dir, const std::vector<LinearModule>& modules) {
  const LoraConfig config = read_lora_config(resolve_inside(dir, "adapter_config.json", dir));
  const std::string file = resolve_inside(dir, "adapter_model.safetensors", dir);
  Adapter adapter{lora_sites(config, modules), {}};
  Params tensors = load_safetensors(file, mx::float32);
  auto take = [&](const std::string& name, const mx::Shape& shape) {
    auto found = tensors.find(prefix + name);
    if (found == tensors.end()) {
      throw Error(
          ErrorCode::invalid_file, file + ": tensor " + quoted(prefix + name) + " is missing");
    }
    if (found->second.shape() != shape) {
      throw Error(
          ErrorCode::invalid_file,
          file + ": tensor " + quoted(prefix + name) + " must be [" + std::to_string(shape[0]) +
              ", " + std::to_string(shape[1]) + "] for this model and configuration");
    }
    adapter.params.emplace(name, found->second);
    tensors.erase(found);
  };
  for (const LinearModule& module : modules) {
    if (auto site = adapter.sites.find(module.name); site != adapter.sites.end()) {
      take(lora_a(module.name), {site->second.rank, module.in});
      take(lora_b(module.name), {module.out, site->second.rank});
    }
  }
  if (!tensors.empty()) {
    throw Error(
        ErrorCode::invalid_file,
        file + ": tensor " + quoted(tensors.begin()->first) +
            " belongs to no module that adapter_config.json adapts");
  }
  return adapter;
}

void save_adapter(const Params& params, const std::string& file) {
  Params out;
  for (const auto& [name, value] : params) {
    out.emplace(prefix + name, mx::astype(value, mx::float32));
  }
  save_safetensors(file, out, {{"format", "pt"}});
}

}  // namespace atelier
