#include "models/load.h"

#include "core/error.h"
#include "core/random.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "models/assemble.h"
#include "models/gguf_model.h"
#include "models/registry.h"

#include <filesystem>

namespace atelier {
LoadedModel load_model(const std::string& path, mx::Dtype dtype) {
  if (!std::filesystem::exists(path)) {
    throw Error(ErrorCode::io, "no such file or folder: " + path);
  }
  if (!std::filesystem::is_directory(path)) {
    return load_gguf_model(path, dtype);
  }
  const std::string config = resolve_inside(path, "config.json", path);
  std::shared_ptr<const Model> model = make_model(read_text(config, 10'000'000), config);
  Params tensors = load_safetensors_folder(path, dtype);
  if (model->config().tied) {
    // Some checkpoints store the tied head as well.
    auto head = tensors.find("lm_head.weight");
    auto embed = tensors.find("model.embed_tokens.weight");
    if (head != tensors.end() && embed != tensors.end()) {
      if (!mx::array_equal(head->second, embed->second).item<bool>()) {
        throw Error(
            ErrorCode::invalid_file,
            path + ": tied embeddings, but lm_head.weight differs from model.embed_tokens.weight");
      }
      tensors.erase(head);
    }
  }
  return assemble(model, std::move(tensors), dtype, path);
}

LoadedModel init_model(const std::string& config_json, uint64_t seed, mx::Dtype dtype) {
  std::shared_ptr<const Model> model = make_model(config_json, "config");
  Params tensors;
  uint32_t index = 0;
  for (const TensorSpec& spec : model->tensors()) {
    const uint32_t at = index++;
    if (spec.shape.size() == 1) {
      tensors.emplace(spec.name, mx::ones(spec.shape, dtype));
      continue;
    }
    const auto scale = static_cast<float>(model->config().initializer_range);
    mx::array value = mx::random::normal(
        spec.shape, mx::float32, 0.0f, scale, random_key(seed, Stream::weights, at));
    tensors.emplace(spec.name, mx::astype(value, dtype));
  }
  return assemble(model, std::move(tensors), dtype, "config");
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
