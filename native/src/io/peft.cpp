#include "io/peft.h"

#include "core/error.h"
#include "core/text.h"
#include "io/file.h"
#include "io/json.h"
#include "io/name_pattern.h"
#include "io/safetensors.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace atelier {
namespace {

const std::string prefix = "base_model.model.";
constexpr size_t patterns_limit = 5000;

bool ends_with_part(const std::string& name, const std::string& suffix) {
  return name == suffix || (name.size() > suffix.size() &&
                            name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0 &&
                            name[name.size() - suffix.size() - 1] == '.');
}

// peft.utils.other.get_pattern_key: re.match(rf"(.*\.)?({key})$", name), the first key that matches.
template <class T>
class ByPattern {
 public:
  ByPattern(const std::vector<std::pair<std::string, T>>& patterns, const std::string& field) {
    for (const auto& [key, value] : patterns) {
      patterns_.emplace_back(NamePattern("(.*\\.)?(" + key + ")$", field), value);
    }
  }
  T of(const std::string& name, T otherwise) const {
    for (const auto& [pattern, value] : patterns_) {
      if (pattern.matches_start_of(name)) {
        return value;
      }
    }
    return otherwise;
  }

 private:
  std::vector<std::pair<NamePattern, T>> patterns_;
};

// peft: re.match(r".*?\.[^.]*\.(?P<idx>\d+)\.", name): the first part that is a number, from the third on.
std::optional<int> layer_of(const std::string& name) {
  size_t from = 0;
  for (int part = 0; from < name.size(); part++) {
    const size_t end = std::min(name.find('.', from), name.size());
    const std::string text = name.substr(from, end - from);
    const bool number = !text.empty() && text.size() < 10 &&
                        text.find_first_not_of("0123456789") == std::string::npos;
    if (part >= 2 && number && end < name.size()) {
      return std::stoi(text);
    }
    from = end + 1;
  }
  return std::nullopt;
}

bool is_all_linear(const std::string& text) {
  std::string lower = text;
  std::transform(
      lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower == "all-linear";
}

// peft.tuners.tuners_utils.check_target_module_exists
class Targets {
 public:
  explicit Targets(const LoraConfig& config) : config_(config) {
    const auto* text = std::get_if<std::string>(&config.target_modules);
    all_ = text && is_all_linear(*text);
    if (text && !all_) {
      pattern_.emplace(*text, "target_modules");
    }
  }
  bool all() const {
    return all_;
  }
  bool has(const std::string& name) const {
    if (all_ || pattern_) {
      return all_ || pattern_->matches_all_of(name);
    }
    const auto& suffixes = std::get<std::vector<std::string>>(config_.target_modules);
    if (!std::any_of(suffixes.begin(), suffixes.end(), [&](const auto& s) {
          return ends_with_part(name, s);
        })) {
      return false;
    }
    // PEFT looks at the layers only where a suffix matched (not where the whole name is given).
    if (!config_.layers_to_transform || config_.layers_to_transform->empty() ||
        std::find(suffixes.begin(), suffixes.end(), name) != suffixes.end()) {
      return true;
    }
    const std::optional<int> layer = layer_of(name);
    const auto& layers = *config_.layers_to_transform;
    return layer && std::find(layers.begin(), layers.end(), *layer) != layers.end();
  }

 private:
  const LoraConfig& config_;
  bool all_ = false;
  std::optional<NamePattern> pattern_;
};

}  // namespace

LoraSites lora_sites(const LoraConfig& config, const std::vector<LinearModule>& modules) {
  if (config.layers_to_transform && std::holds_alternative<std::string>(config.target_modules)) {
    throw Error(
        ErrorCode::invalid_argument,
        "LoRA: layers_to_transform cannot be used where target_modules is one string");
  }
  // Each pattern is bounded by itself; no configuration that was written by hand has so many.
  if (config.rank_pattern.size() + config.alpha_pattern.size() > patterns_limit) {
    throw Error(
        ErrorCode::invalid_argument,
        "LoRA: rank_pattern and alpha_pattern have more than " + std::to_string(patterns_limit) +
            " entries");
  }
  const Targets targets(config);
  const ByPattern<int> ranks(config.rank_pattern, "rank_pattern");
  const ByPattern<double> alphas(config.alpha_pattern, "alpha_pattern");
  for (const char* name : {"model.embed_tokens", "lm_head"}) {
    if (!targets.all() && targets.has(name)) {
      throw Error(
          ErrorCode::unsupported_model,
          std::string("LoRA on ") + name + " is not supported",
          "Choose among the linear modules of the layers, e.g. \"all-linear\".");
    }
  }
  LoraSites sites;
  for (const LinearModule& module : modules) {
    if (!targets.has(module.name)) {
      continue;
    }
    const int rank = ranks.of(module.name, config.rank);
    const double alpha = alphas.of(module.name, config.alpha);
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
