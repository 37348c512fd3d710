#pragma once

#include "io/json.h"
#include "models/config.h"

#include <optional>
#include <string>

namespace atelier {

/** Reads a config.json: values with their type and range checked, and features that are not run refused. */
class ConfigReader {
 public:
  /** `where` names the file in messages. */
  ConfigReader(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  /** From 1 to 2^31 - 1. `otherwise` where the key is absent or null. */
  int count(const char* key, std::optional<int> otherwise = std::nullopt) const;
  double number(const char* key, std::optional<double> otherwise = std::nullopt) const;
  bool flag(const char* key, bool otherwise) const;
  std::string text(const char* key, const std::string& otherwise) const;

  /** unsupported_model unless the value is one of `allowed` or absent. */
  void require(const char* key, const std::vector<Json>& allowed) const;
  /**
   * unsupported_model where a key is neither read here nor known to leave the forward pass as it is: a feature
   * that was left out would give wrong numbers without a word. null, false and what is empty say "not used".
   */
  void require_known_keys() const;
  [[noreturn]] void unsupported(const std::string& what, const std::string& hint = "") const;
  [[noreturn]] void invalid(const std::string& rule) const;

  /** What every dense family has: sizes, rope in both forms, and checks of how they fit together. */
  ModelConfig dense(const std::string& family, std::optional<int> default_head_dim) const;

 private:
  const Json* find(const char* key) const;
  void require_features() const;
  void read_rope(ModelConfig& config) const;
  void check(const ModelConfig& config) const;

  const Json& json_;
  std::string where_;
};

}  // namespace atelier
