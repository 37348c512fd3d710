#pragma once

#include <optional>
#include <string>
#include <vector>

namespace atelier {

/** Tensors that a checkpoint may hold beside the model's, whose names begin with `prefix`; they are not read. */
struct LeftOut {
  std::string prefix;
  /** For people, e.g. "the vision tower". */
  std::string what;
};

/** A checkpoint may hold tensors whose names begin with `ours` by names that begin with `theirs`. */
struct Renamed {
  std::string ours, theirs;
};

/** What every decoder-only model has. What only a family has stands in its file. */
struct ModelConfig {
  std::string family;
  int vocabulary;
  int hidden;
  int layers;
  /** Positions it was made for. */
  int context;
  bool tied;
  double initializer_range = 0.02;
  /** A sequence classifier with one label (transformers' `*ForSequenceClassification`): `score` and no `lm_head`. */
  bool scalar_head = false;
  /** What a batch is filled up with: a row is scored after its last token that is none. */
  std::optional<int> pad_token = {};
  /** The config.json that it was read from, as text, without what is left out. */
  std::string json;
  std::vector<LeftOut> left_out = {};
  /** Beside Model::stored_name. */
  std::vector<Renamed> also_named = {};
};

/** config.json with the type that the weights beside it have ("float32"). */
std::string config_json(const ModelConfig& config, const std::string& dtype);

}  // namespace atelier
