// transformers' folders, and mlx-lm's quantised ones (mlx_lm/utils.py, load_model of mlx-lm 0.32).
#include "core/error.h"
#include "core/text.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "io/tensor.h"
#include "models/checkpoint.h"
#include "models/registry.h"
#include "nn/weight.h"

namespace atelier {
namespace {

constexpr const char* weight = ".weight";

std::string module_of(const std::string& name) {
  return name.substr(0, name.size() - std::string(weight).size());
}

class FolderCheckpoint : public Checkpoint {
 public:
  explicit FolderCheckpoint(const std::string& dir) : Checkpoint(dir) {
    const std::string config = resolve_inside(dir, "config.json", dir);
    Json json = parse_json(read_text(config, 10'000'000), config, 16);
    const auto quantisation = read_quantisation(json, config);
    if (quantisation) {
      json.erase("quantization");
      json.erase("quantization_config");
    }
    model_ = make_model(json.dump(), config);
    files_ = read_safetensors_folder(dir);
    leave_out();
    name_as_modules();
    for (const auto& [name, tensor] : files_.tensors) {
      shapes_.emplace(name, mx::Shape(tensor.entry.shape.begin(), tensor.entry.shape.end()));
    }
    if (quantisation) {
      find_quantised(*quantisation);
    }
    for (const auto& [name, shape] : shapes_) {
      if (!name.ends_with(weight) || !quantised_.count(module_of(name))) {
        const auto& tensor = files_.tensors.at(name);
        require_weight_dtype(tensor.file, name, tensor.entry.dtype);
      }
    }
    check_tensors(*model_, shapes_, dir);
  }

  mx::array read(const std::string& name, mx::Dtype dtype) const override {
    if (name.ends_with(weight) && quantised_.count(module_of(name))) {
      const Params packed = read_quantised(module_of(name), dtype);
      const mx::Shape& shape = shapes_.at(name);
      return weight_of(packed, module_of(name), shape.back()).dense(0, shape[0]);
    }
    return tensor(name, dtype);
  }

  Params read_quantised(const std::string& module, mx::Dtype dtype) const override {
    return {
        {module + weight, tensor(module + weight, std::nullopt)},
        {module + ".scales", tensor(module + ".scales", dtype)},
        {module + ".biases", tensor(module + ".biases", dtype)}};
  }

 private:
  void leave_out() {
    for (const LeftOut& left : model_->config().left_out) {
      if (std::erase_if(files_.tensors, [&](const auto& tensor) {
            return tensor.first.starts_with(left.prefix);
          })) {
        left_out_.push_back(left.what + " (" + left.prefix + "*)");
      }
    }
  }

  /** The names that a tensor may have in checkpoints. */
  std::vector<std::string> names_of(const std::string& tensor) const {
    std::vector<std::string> out{model_->stored_name(tensor)};
    for (const Renamed& prefix : model_->config().also_named) {
      if (tensor.starts_with(prefix.ours)) {
        out.push_back(prefix.theirs + tensor.substr(prefix.ours.size()));
      }
    }
    return out;
  }

  void name_as_modules() {
    std::map<std::string, SafetensorsFolder::Tensor> named;
    for (const TensorSpec& spec : model_->tensors()) {
      std::vector<std::string> parts{spec.name};
      if (spec.name.ends_with(weight)) {
        parts.insert(
            parts.end(), {module_of(spec.name) + ".scales", module_of(spec.name) + ".biases"});
      }
      for (const std::string& part : parts) {
        for (const std::string& name : names_of(part)) {
          if (auto found = files_.tensors.extract(name)) {
            named.emplace(part, std::move(found.mapped()));
            break;
          }
        }
      }
    }
    // The rest is for check_tensors to judge.
    for (auto& [name, tensor] : files_.tensors) {
      if (!named.emplace(name, std::move(tensor)).second) {
        throw Error(
            ErrorCode::invalid_file,
            path() + ": tensor " + quoted(name) + " is there under its name in checkpoints too");
      }
    }
    files_.tensors = std::move(named);
  }

  // A module is quantised where it has scales; the configuration then says how, and the shapes must agree.
  void find_quantised(const QuantisedConfig& config) {
    TensorShapes asked;
    for (const TensorSpec& spec : model_->tensors()) {
      asked.emplace(spec.name, spec.shape);
    }
    for (const auto& [scales_name, scales] : files_.tensors) {
      if (!scales_name.ends_with(".scales")) {
        continue;
      }
      const std::string module = scales_name.substr(0, scales_name.size() - 7);
      auto spec = asked.find(module + weight);
      auto packed = files_.tensors.find(module + weight);
      auto biases = files_.tensors.find(module + ".biases");
      if (is_of_experts(module)) {
        throw Error(
            ErrorCode::unsupported_model,
            path() + ": quantised experts (" + quoted(module) + ") are not supported",
            "Take the model in floats.");
      }
      if (spec == asked.end() || packed == files_.tensors.end() || biases == files_.tensors.end()) {
        invalid(
            module, "has scales, but is no quantised matrix of this model with weight and biases");
      }
      const auto form = config.of(module);
      if (!form) {
        invalid(module, "has scales, but the configuration says that it is not quantised");
      }
      require_weight_dtype(scales.file, scales_name, scales.entry.dtype);
      require_weight_dtype(biases->second.file, biases->first, biases->second.entry.dtype);
      const int64_t out = spec->second[0], in = spec->second[1];
      const std::vector<int64_t> groups{out, in / form->group};
      if (spec->second.size() != 2 || packed->second.entry.dtype != "U32" ||
          in % form->group != 0 ||
          packed->second.entry.shape != std::vector<int64_t>{out, in * form->bits / 32} ||
          scales.entry.shape != groups || biases->second.entry.shape != groups) {
        invalid(
            module,
            "does not have the shapes of [" + std::to_string(out) + ", " + std::to_string(in) +
                "] in " + std::to_string(form->bits) + " bits and groups of " +
                std::to_string(form->group));
      }
      quantised_.emplace(module, *form);
      shapes_.insert_or_assign(module + weight, spec->second);
      shapes_.erase(module + ".scales");
      shapes_.erase(module + ".biases");
    }
  }

  // Also by mlx-lm's name.
  bool is_of_experts(const std::string& module) const {
    return module.find(".experts.") != std::string::npos ||
           module.find(".switch_mlp.") != std::string::npos;
  }

  [[noreturn]] void invalid(const std::string& module, const std::string& what) const {
    throw Error(ErrorCode::invalid_file, path() + ": " + quoted(module) + " " + what);
  }

  mx::array tensor(const std::string& name, std::optional<mx::Dtype> dtype) const {
    const auto& found = files_.tensors.at(name);
    return load_safetensor(found, model_->stored_name(name), dtype);
  }

  SafetensorsFolder files_;
};

}  // namespace

std::unique_ptr<Checkpoint> open_folder(const std::string& dir) {
  return std::make_unique<FolderCheckpoint>(dir);
}

}  // namespace atelier
