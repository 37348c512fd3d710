#pragma once

#include "io/json.h"
#include "models/config.h"
#include "nn/rope.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace atelier {

/** What the dense families share. */
struct DenseConfig {
  ModelConfig model;
  int intermediate, heads, kv_heads, head_dim;
  double norm_epsilon;
};

/** What families with a mixture of experts share. */
struct MixtureConfig {
  int experts;
  /** Of a token. */
  int chosen;
  /** Of each expert. */
  int intermediate;
};

/** What a family takes where config.json leaves a key out. */
struct DenseDefaults {
  /** Absent: hidden_size / num_attention_heads. */
  std::optional<int> head_dim = std::nullopt;
  /** Absent: it must be there. */
  std::optional<int> intermediate = std::nullopt;
  bool tied = false;
};

/** Whether transformers' class of that name is a sequence classifier. */
inline bool is_classifier(const std::string& architecture) {
  return architecture.ends_with("ForSequenceClassification");
}

/** Reads a config.json: values with their type and range checked, and features that are not run refused. */
class ConfigReader {
 public:
  /** `where` names the file in messages. */
  ConfigReader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  const Json& json() const {
    return json_;
  }
  const std::string& where() const {
    return where_;
  }

  /** From 1 to 2^31 - 1. `otherwise` where the key is absent or null. */
  int count(const char* key, std::optional<int> otherwise = std::nullopt) const;
  double number(const char* key, std::optional<double> otherwise = std::nullopt) const;
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key, const std::string& otherwise) const;
  /** Whether the key is there with a value that is not null. */
  bool has(const char* key) const;
  /** Whether the key is there, be it with null. */
  bool stated(const char* key) const {
    return json_.contains(key);
  }
  /** The value, or null where the key is absent: for what has a form of its own. */
  const Json& value(const char* key) const;
  /** Whole numbers; `otherwise` where the key is absent or null. */
  std::vector<int> whole_numbers(const char* key, const std::vector<int>& otherwise) const;

  /** unsupported_model unless the value is one of `allowed` or absent. */
  void require(const char* key, const std::vector<Json>& allowed) const;
  /**
   * unsupported_model where a key has neither been read by now nor is known to leave the forward pass as it is: a
   * feature that was left out would give wrong numbers without a word. null, false and what is empty say "not used".
   */
  void require_known_keys() const;
  [[noreturn]] void unsupported(const std::string& what, const std::string& hint = "") const;
  [[noreturn]] void invalid(const std::string& rule) const;

  /** The sizes that every family has, checked; features of other families are refused. */
  ModelConfig model(const std::string& family, bool tied_by_default = false) const;
  /** Those of a dense family too, and how they fit together. */
  DenseConfig dense(const std::string& family, const DenseDefaults& defaults = {}) const;
  /** num_experts (transformers 5: num_local_experts), num_experts_per_tok, moe_intermediate_size, checked. */
  MixtureConfig mixture() const;
  /** rope_parameters, or rope_theta and rope_scaling of older files. */
  Rope rope(int head_dim, int context, double default_theta = 10000.0) const;
  /** unsupported_model where rope_scaling says something else than `parameters`, which come in its place. */
  void require_one_scaling(const Json& parameters) const;
  /** Rope of one object of such parameters (`key`, or of a `layer_type` in it). */
  Rope rope_of(const Json& parameters, int head_dim, int context, double default_theta) const;
  /** layer_types as transformers fills it in where it is absent: whether each layer has a sliding window. */
  std::vector<bool> sliding_layers(int layers, const std::vector<bool>& otherwise) const;

 private:
  const Json* find(const char* key) const;
  bool scalar_head() const;
  std::optional<int> pad_token() const;

  const Json& json_;
  std::string where_;
  mutable std::set<std::string> read_;
};

}  // namespace atelier
