#include "io/peft.h"

#include "core/error.h"
#include "core/text.h"
#include "io/file.h"
#include "io/json.h"
#include "io/name_pattern.h"
#include "io/peft_tensors.h"
#include "io/safetensors.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace atelier {
namespace {

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
      patterns_.push_back({NamePattern("(.*\\.)?(" + key + ")$", field), key, value});
    }
  }
  T of(const std::string& name, T otherwise) {
    for (Each& each : patterns_) {
      if (each.pattern.matches_start_of(name)) {
        each.used = true;
        return each.value;
      }
    }
    return otherwise;
  }
  void require_all_used(const std::string& field) const {
    for (const Each& each : patterns_) {
      if (!each.used) {
        throw Error(
            ErrorCode::invalid_argument,
            "LoRA: " + field + ": " + quoted(each.key) + " gives no adapted module its value",
            "A name is that of an adapted module or its end, such as q_proj; the first that "
            "matches counts.");
      }
    }
  }

 private:
  struct Each {
    NamePattern pattern;
    std::string key;
    T value;
    bool used = false;
  };
  std::vector<Each> patterns_;
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

bool has_suffix(const std::vector<std::string>& suffixes, const std::string& name) {
  return std::any_of(suffixes.begin(), suffixes.end(), [&](const std::string& s) {
    return ends_with_part(name, s);
  });
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
    if (!has_suffix(suffixes, name)) {
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

// One site for all experts of a layer: their matrices are one product.
template <class SiteOf>
std::optional<LoraSite>
site_of_experts(const LinearModule& module, const Targets& targets, SiteOf&& site_of) {
  std::optional<LoraSite> site;
  if (targets.all()) {
    return site;
  }
  for (int e = 0; e < module.experts; e++) {
    const std::string name = expert_name(module.name, e);
    const std::optional<LoraSite> own =
        targets.has(name) ? std::optional<LoraSite>(site_of(name)) : std::nullopt;
    const bool same = own.has_value() == site.has_value() &&
                      (!own || (own->rank == site->rank && own->scale == site->scale));
    if (e > 0 && !same) {
      throw Error(
          ErrorCode::unsupported_model,
          "LoRA on some of a layer's experts, or with different ranks among them (" + name +
              "), is not supported");
    }
    site = own;
  }
  return site;
}

// Where the text model lies in one that sees pictures, as PEFT's files of that have it.
constexpr const char* text_models[] = {"model.language_model.", "language_model.model."};
const std::string text_model = "model.", in_file = "base_model.model.";

/** Where the tensors' modules lie; `model.` where that is the text model alone. */
std::string lies_in(const Params& tensors) {
  for (const std::string at : text_models) {
    const auto first = tensors.lower_bound(in_file + at);
    if (first != tensors.end() && first->first.starts_with(in_file + at)) {
      return at;
    }
  }
  return text_model;
}

std::string moved(const std::string& name, const std::string& from, const std::string& to) {
  return name.starts_with(from) ? to + name.substr(from.size()) : name;
}

// The modules that `config` targets by the names that they have in the file's model.
LoraSites
sites_in(const std::string& at, const LoraConfig& config, std::vector<LinearModule> modules) {
  for (LinearModule& m : modules) {
    m.name = moved(m.name, text_model, at);
  }
  LoraSites out;
  for (const auto& [name, site] : lora_sites(config, modules)) {
    out.emplace(moved(name, at, text_model), site);
  }
  return out;
}

Params as_text_model(const std::string& at, Params tensors) {
  Params out;
  for (auto& [name, value] : tensors) {
    std::string to = moved(name, in_file + at, in_file + text_model);
    to = moved(to, in_file + "language_model.lm_head.", in_file + "lm_head.");
    out.emplace(std::move(to), value);
  }
  return out;
}

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
  ByPattern<int> ranks(config.rank_pattern, "rank_pattern");
  ByPattern<double> alphas(config.alpha_pattern, "alpha_pattern");
  for (const char* name : {"model.embed_tokens", "lm_head"}) {
    if (!targets.all() && targets.has(name)) {
      throw Error(
          ErrorCode::unsupported_model,
          std::string("LoRA on ") + name + " is not supported",
          "Choose among the linear modules of the layers, e.g. \"all-linear\".");
    }
  }
  auto site_of = [&](const std::string& name) {
    const int rank = ranks.of(name, config.rank);
    const double alpha = alphas.of(name, config.alpha);
    if (rank < 1 || rank > 65536 || !std::isfinite(alpha)) {
      throw Error(
          ErrorCode::invalid_argument,
          "LoRA: rank " + std::to_string(rank) + ", alpha " + std::to_string(alpha) + " for " +
              name + ": the rank must be from 1 to 65536 and alpha finite");
    }
    const auto scale =
        static_cast<float>(alpha / (config.rslora ? std::sqrt(double(rank)) : double(rank)));
    if (!std::isfinite(scale)) {
      throw Error(
          ErrorCode::invalid_argument,
          "LoRA: alpha " + std::to_string(alpha) + " for " + name + " is beyond what f32 holds");
    }
    return LoraSite{rank, scale, config.dora};
  };
  for (const std::string& parameter : config.target_parameters) {
    if (std::none_of(modules.begin(), modules.end(), [&](const LinearModule& m) {
          return m.kind == ModuleKind::all_experts && ends_with_part(m.name, parameter);
        })) {
      throw Error(
          ErrorCode::unsupported_model,
          "LoRA on the parameter " + quoted(parameter) + " is not supported for this model");
    }
  }
  LoraSites sites;
  for (const LinearModule& module : modules) {
    std::optional<LoraSite> site;
    if (module.kind == ModuleKind::each_expert) {
      site = site_of_experts(module, targets, site_of);
    } else if (
        module.kind == ModuleKind::all_experts ? has_suffix(config.target_parameters, module.name)
                                               : targets.has(module.name)) {
      site = site_of(module.name);
    }
    if (site && site->dora && module.experts > 0) {
      throw Error(
          ErrorCode::unsupported_model, "DoRA on experts (" + module.name + ") is not supported");
    }
    if (site) {
      sites.emplace(module.name, *site);
    }
  }
  if (sites.empty()) {
    throw Error(
        ErrorCode::invalid_argument,
        "LoRA: target_modules and target_parameters match nothing in the model",
        modules.empty() ? "" : "Modules are named like " + modules.front().name + ".");
  }
  if (config.patterns_must_match) {
    ranks.require_all_used("rank_pattern");
    alphas.require_all_used("alpha_pattern");
  }
  return sites;
}

std::vector<std::string> saved_modules(const LoraConfig& config) {
  std::set<std::string> out;
  for (const std::string& name : config.modules_to_save) {
    if (name == "lm_head") {
      out.insert(name);
    } else if (name == "embed_tokens" || name == "model.embed_tokens") {
      out.insert("model.embed_tokens");
    } else {
      throw Error(
          ErrorCode::unsupported_model,
          "LoRA: modules_to_save: " + quoted(name) + " is not supported",
          "Only lm_head and embed_tokens are trained and saved whole.");
    }
  }
  if (config.ensure_weight_tying && out.count("lm_head")) {
    throw Error(
        ErrorCode::unsupported_model,
        "LoRA: ensure_weight_tying with lm_head in modules_to_save is not supported",
        "Save embed_tokens alone: the tied head follows it.");
  }
  return {out.begin(), out.end()};
}

Adapter load_adapter(
    const std::string& dir,
    const std::vector<LinearModule>& modules,
    const mx::Shape& embedding) {
  const LoraConfig config = read_lora_config(resolve_inside(dir, "adapter_config.json", dir));
  const std::string file = resolve_inside(dir, "adapter_model.safetensors", dir);
  Params tensors = load_safetensors(file, mx::float32);
  const std::string at = lies_in(tensors);
  Adapter adapter{
      sites_in(at, config, modules), {}, saved_modules(config), config.ensure_weight_tying};
  tensors = as_text_model(at, std::move(tensors));
  // Experts are no modules in transformers 5: where target_modules name "gate_proj", PEFT adapts other MLPs' alone.
  for (const LinearModule& m : modules) {
    if (m.kind == ModuleKind::each_expert && !holds_experts(tensors, m)) {
      adapter.sites.erase(m.name);
    }
  }
  std::map<std::string, mx::Shape> whole;
  for (const std::string& module : adapter.saved) {
    whole.emplace(module + ".weight", embedding);
  }
  adapter.params = adapter_params(std::move(tensors), adapter.sites, whole, modules, file);
  if (config.scalar_head && !adapter.params.count(scalar_head_name)) {
    throw Error(
        ErrorCode::invalid_file,
        file + ": tensor " + quoted(scalar_head_name) +
            ", which modules_to_save names, is missing");
  }
  std::vector<mx::array> values;
  for (const auto& [name, value] : adapter.params) {
    values.push_back(value);
  }
  mx::eval(values);
  return adapter;
}

void save_adapter(
    const Params& params,
    const std::vector<LinearModule>& modules,
    const std::string& file) {
  Params out;
  for (const auto& [name, value] : peft_tensors(params, modules)) {
    out.emplace(name, mx::astype(value, mx::float32));
  }
  save_safetensors(file, out, {{"format", "pt"}});
}

}  // namespace atelier
