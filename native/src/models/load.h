#pragma once

#include "models/checkpoint.h"

#include <memory>
#include <string>

namespace atelier {

/** A model with its weights, in the engine's form (Model::stack). */
struct LoadedModel {
  std::shared_ptr<const Model> model;
  Params weights;
  mx::Dtype dtype = mx::float32;
};

/** Quantise on load; without a group, 64 where it divides every row and 32 otherwise. */
struct Quantise {
  int bits;
  std::optional<int> group;
};

/** How each quantised module is kept in memory, by its name. */
using Forms = std::map<std::string, Quantisation>;

/** As asked for: what mlx-lm quantises, the linear modules, embedding and head. */
Forms forms_of(const Model& model, const TensorShapes& shapes, const Quantise& quantise);
/** As it is stored, or as asked for. Throws invalid_argument, unsupported_model where that cannot be done. */
Forms forms_of(const Checkpoint& checkpoint, const std::optional<Quantise>& quantise);

/** What most of the modules have; absent: floats. */
std::optional<Quantisation> commonest(const Forms& forms);

/** Bytes that load_model keeps. */
uint64_t loaded_bytes(const Checkpoint& checkpoint, const Forms& forms, mx::Dtype dtype);

/**
 * A checkpoint's weights. What only they tell (NaN, a tied head that differs) is invalid_file. Quantising keeps one
 * tensor's floats at a time.
 */
LoadedModel load_model(const Checkpoint& checkpoint, const Forms& forms, mx::Dtype dtype);
/** As it is stored. */
LoadedModel load_model(const std::string& path, mx::Dtype dtype);

/** `.weight`, `.scales` and `.biases` of a module, evaluated. */
Params quantised(const std::string& module, const mx::array& floats, const Quantisation& form);

bool is_quantised(const LoadedModel& model);

/** Seeded random weights: normal with initializer_range, norms 1 (or 0 where 1 is added), biases 0, a function of (seed, tensor) alone. */
LoadedModel init_model(const std::string& config_json, uint64_t seed, mx::Dtype dtype);

/** config.json and model.safetensors as transformers names them; `dir` must exist. */
void save_model(const LoadedModel& model, const std::string& dir, mx::Dtype dtype);

}  // namespace atelier
