#pragma once

#include "io/json.h"

#include <map>
#include <optional>
#include <string>

namespace atelier {

/** MLX's affine quantisation (mx::quantize): groups of `group` numbers of a row share a scale and a bias. */
struct Quantisation {
  int bits = 4;
  int group = 64;

  bool operator==(const Quantisation&) const = default;
};

/** Throws invalid_argument where MLX has no such form. */
void require_quantisation(const Quantisation& form);

/** What a config.json says of its quantised matrices, as mlx-lm 0.32 writes it. */
struct QuantisedConfig {
  Quantisation standard;
  /** By module name; absent value: this module is kept in floats. */
  std::map<std::string, std::optional<Quantisation>> overrides;

  std::optional<Quantisation> of(const std::string& module) const;
};

/**
 * `quantization` (or `quantization_config`) of a configuration; absent: floats. Another method (GPTQ, AWQ, fp8 ...)
 * or mode (mxfp4 ...) is unsupported_model; `where` names the file.
 */
std::optional<QuantisedConfig> read_quantisation(const Json& config, const std::string& where);

}  // namespace atelier
