#pragma once

#include "models/model.h"

#include <memory>
#include <string>

namespace atelier {

/** A model with its weights, in the engine's form (Model::stack). */
struct LoadedModel {
  std::shared_ptr<const Model> model;
  Params weights;
  mx::Dtype dtype = mx::float32;
};

/**
 * The model of a folder with config.json and safetensors, or of one .gguf file, judged by its configuration and
 * headers alone: no weights are read, no device is used. Throws what load_model would, but for what only the
 * weights tell (NaN, a tied head that differs).
 */
std::shared_ptr<const Model> check_model(const std::string& path);

/** What check_model accepts, with its weights. */
LoadedModel load_model(const std::string& path, mx::Dtype dtype);

/** Seeded random weights: normal with initializer_range, norms 1 (or 0 where 1 is added), biases 0, a function of (seed, tensor) alone. */
LoadedModel init_model(const std::string& config_json, uint64_t seed, mx::Dtype dtype);

/** config.json and model.safetensors as transformers names them; `dir` must exist. */
void save_model(const LoadedModel& model, const std::string& dir, mx::Dtype dtype);

}  // namespace atelier
