#include "models/load.h"

#include "core/error.h"
#include "core/random.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "io/tensor.h"
#include "models/assemble.h"
#include "models/check_tensors.h"
#include "models/gguf_model.h"
#include "models/registry.h"

#include <filesystem>

namespace atelier {
namespace {

void require_there(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    throw Error(ErrorCode::io, "no such file or folder: " + path);
  }
}

struct Folder {
  std::shared_ptr<const Model> model;
  SafetensorsFolder weights;
};

Folder open_folder(const std::string& dir) {
  const std::string config = resolve_inside(dir, "config.json", dir);
  Folder out{make_model(read_text(config, 10'000'000), config), read_safetensors_folder(dir)};
  TensorShapes shapes;
  for (const auto& [name, tensor] : out.weights.tensors) {
    require_weight_dtype(tensor.file, name, tensor.entry.dtype);
    shapes.emplace(name, mx::Shape(tensor.entry.shape.begin(), tensor.entry.shape.end()));
  }
  check_tensors(*out.model, shapes, dir);
  return out;
}

LoadedModel load_folder(const std::string& dir, mx::Dtype dtype) {
  const auto [model, weights] = open_folder(dir);
  Params tensors = load_safetensors_folder(weights, dtype);
  if (model->config().tied) {
    // Some checkpoints store the tied head as well.
    if (auto head = tensors.find("lm_head.weight"); head != tensors.end()) {
      if (!mx::array_equal(head->second, tensors.at("model.embed_tokens.weight")).item<bool>()) {
        throw Error(
            ErrorCode::invalid_file,
            dir + ": tied embeddings, but lm_head.weight differs from model.embed_tokens.weight");
      }
      tensors.erase(head);
    }
  }
  return assemble(model, std::move(tensors), dtype);
}

}  // namespace

std::shared_ptr<const Model> check_model(const std::string& path) {
  require_there(path);
  return std::filesystem::is_directory(path) ? open_folder(path).model : check_gguf_model(path);
}

LoadedModel load_model(const std::string& path, mx::Dtype dtype) {
  require_there(path);
  return std::filesystem::is_directory(path) ? load_folder(path, dtype)
                                             : load_gguf_model(path, dtype);
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
  Params out;
  for (const auto& [name, value] : model.model->unstack(model.weights)) {
    out.emplace(name, mx::astype(value, dtype));
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
