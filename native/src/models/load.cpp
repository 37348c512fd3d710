#include "models/load.h"

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "models/assemble.h"
#include "models/registry.h"

#include <algorithm>
#include <set>

namespace atelier {
namespace {

// What mlx-lm quantises: the linear modules, embedding and head.
std::set<std::string> quantisable(const Model& model) {
  std::set<std::string> out{"model.embed_tokens", "lm_head"};
  for (const LinearModule& m : model.linears()) {
    out.insert(m.name);
  }
  return out;
}

std::string module_of(const std::string& tensor) {
  return tensor.ends_with(".weight") ? tensor.substr(0, tensor.size() - 7) : "";
}

}  // namespace

Forms forms_of(const Model& model, const TensorShapes& shapes, const Quantise& quantise) {
  if (model.mixture()) {
    throw Error(
        ErrorCode::unsupported_model,
        "quantising a mixture of experts is not supported",
        "Keep the model in floats.");
  }
  const std::set<std::string> modules = quantisable(model);
  Quantisation form{quantise.bits, quantise.group.value_or(64)};
  require_quantisation(form);
  for (const auto& [name, shape] : shapes) {
    if (!modules.count(module_of(name)) || shape.back() % form.group == 0) {
      continue;
    }
    if (quantise.group || shape.back() % 32 != 0) {
      throw Error(
          ErrorCode::unsupported_model,
          "the rows of " + quoted(name) + " have " + std::to_string(shape.back()) +
              " numbers, which do not divide into groups of " + std::to_string(form.group),
          quantise.group ? "Choose a smaller group." : "Keep the model in floats.");
    }
    form.group = 32;
  }
  Forms out;
  for (const auto& [name, shape] : shapes) {
    if (modules.count(module_of(name))) {
      out.emplace(module_of(name), form);
    }
  }
  return out;
}

Forms forms_of(const Checkpoint& checkpoint, const std::optional<Quantise>& quantise) {
  if (!quantise) {
    return checkpoint.quantised();
  }
  if (!checkpoint.quantised().empty()) {
    throw Error(
        ErrorCode::invalid_argument,
        checkpoint.path() + " is quantised already, to " +
            std::to_string(checkpoint.quantised().begin()->second.bits) + " bits",
        "Load it as it is stored.");
  }
  return forms_of(*checkpoint.model(), checkpoint.shapes(), *quantise);
}

std::optional<Quantisation> commonest(const Forms& forms) {
  std::map<std::pair<int, int>, int> counts;
  std::optional<Quantisation> out;
  int most = 0;
  for (const auto& [module, form] : forms) {
    if (const int count = ++counts[{form.bits, form.group}]; count > most) {
      most = count;
      out = form;
    }
  }
  return out;
}

uint64_t loaded_bytes(const Checkpoint& checkpoint, const Forms& forms, mx::Dtype dtype) {
  uint64_t out = 0;
  for (const auto& [name, shape] : checkpoint.shapes()) {
    uint64_t numbers = 1;
    for (const int n : shape) {
      numbers *= static_cast<uint64_t>(n);
    }
    const auto form = forms.find(module_of(name));
    out += form == forms.end()
               ? numbers * dtype.size()
               : numbers * form->second.bits / 8 + numbers / form->second.group * 2 * dtype.size();
  }
  return out;
}

LoadedModel load_model(const Checkpoint& checkpoint, const Forms& forms, mx::Dtype dtype) {
  const Model& model = *checkpoint.model();
  Params tensors;
  for (const auto& [name, shape] : checkpoint.shapes()) {
    const std::string module = module_of(name);
    if (checkpoint.quantised().count(module)) {
      tensors.merge(checkpoint.read_quantised(module, dtype));
    } else if (auto form = forms.find(module); form != forms.end()) {
      tensors.merge(quantised(module, checkpoint.read(name, dtype), form->second));
    } else {
      // Scores are read in f32 whatever the rest is computed in.
      tensors.emplace(name, checkpoint.read(name, name == scalar_head_name ? mx::float32 : dtype));
    }
  }
  if (auto head = tensors.find("lm_head.weight"); model.config().tied && head != tensors.end()) {
    // Some checkpoints store the tied head as well.
    if (!mx::array_equal(head->second, tensors.at("model.embed_tokens.weight")).item<bool>()) {
      throw Error(
          ErrorCode::invalid_file,
          checkpoint.path() +
              ": tied embeddings, but lm_head.weight differs from model.embed_tokens.weight");
    }
    for (const char* part : {"lm_head.weight", "lm_head.scales", "lm_head.biases"}) {
      tensors.erase(part);
    }
  }
  return assemble(checkpoint.model(), std::move(tensors), dtype);
}

LoadedModel load_model(const std::string& path, mx::Dtype dtype) {
  const auto checkpoint = open_checkpoint(path);
  return load_model(*checkpoint, checkpoint->quantised(), dtype);
}

Params quantised(const std::string& module, const mx::array& floats, const Quantisation& form) {
  std::vector<mx::array> parts = mx::quantize(floats, form.group, form.bits);
  mx::eval(parts);
  return {
      {module + ".weight", parts[0]},
      {module + ".scales", parts[1]},
      {module + ".biases", parts[2]}};
}

bool is_quantised(const LoadedModel& model) {
  return std::any_of(model.weights.begin(), model.weights.end(), [](const auto& item) {
    return item.first.ends_with(".scales");
  });
}

LoadedModel init_model(const std::string& config_json, uint64_t seed, mx::Dtype dtype) {
  std::shared_ptr<const Model> model = make_model(config_json, "config");
  Params tensors;
  uint32_t index = 0;
  for (const TensorSpec& spec : model->tensors()) {
    const uint32_t at = index++;
    if (spec.fill != Fill::normal) {
      tensors.emplace(
          spec.name,
          spec.fill == Fill::ones ? mx::ones(spec.shape, dtype) : mx::zeros(spec.shape, dtype));
      continue;
    }
    const auto scale = static_cast<float>(model->config().initializer_range);
    mx::array value = mx::random::normal(
        spec.shape, mx::float32, 0.0f, scale, random_key(seed, Stream::weights, at));
    tensors.emplace(spec.name, mx::astype(value, dtype));
  }
  return assemble(model, std::move(tensors), dtype);
}

void save_model(const LoadedModel& model, const std::string& dir, mx::Dtype dtype) {
  if (is_quantised(model)) {
    throw Error(
        ErrorCode::invalid_argument,
        "a quantised model is not saved as floats",
        "Export it, or copy the folder that it was loaded from.");
  }
  Params out;
  for (const auto& [name, value] : model.model->unstack(model.weights)) {
    out.emplace(model.model->stored_name(name), mx::astype(value, dtype));
  }
  const char* type = dtype == mx::float32    ? "float32"
                     : dtype == mx::bfloat16 ? "bfloat16"
                                             : "float16";
  const std::string config = config_json(model.model->config(), type);
  save_safetensors(dir + "/model.safetensors", out, {{"format", "pt"}});
  write_atomically(
      dir + "/config.json", [&](const Append& append) { append(config.data(), config.size()); });
}

}  // namespace atelier
