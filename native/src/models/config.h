#pragma once

#include <optional>
#include <string>
#include <vector>

namespace atelier {

/** transformers' rope_parameters of rope_type "llama3" (modeling_rope_utils, transformers 5.24.0). */
struct Llama3Rope {
  double factor;
  double low_freq_factor;
  double high_freq_factor;
  double original_context;
};

/** What a dense decoder is made of; one for all families, each reads it from its own config.json. */
struct ModelConfig {
  std::string family;
  int vocabulary;
  int hidden;
  int intermediate;
  int layers;
  int heads;
  int kv_heads;
  int head_dim;
  int context;
  bool tied;
  /** RMS norms on the heads of q and k (Qwen3). */
  bool qk_norm;
  double norm_epsilon;
  double rope_theta;
  std::optional<Llama3Rope> rope_llama3;
  double initializer_range = 0.02;
};

/** config.json as transformers 5 writes it. */
std::string config_json(const ModelConfig& config, const std::string& dtype);

}  // namespace atelier
