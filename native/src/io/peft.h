#pragma once

#include "core/modules.h"
#include "core/params.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace atelier {

/** The fields of peft.LoraConfig (peft 0.21.2) that decide what an adapter computes. */
struct LoraConfig {
  int rank = 8;
  double alpha = 8;
  /** Name suffixes, or one string: a regular expression for the whole name, or "all-linear". */
  std::variant<std::vector<std::string>, std::string> target_modules = {};
  /** Name suffixes of parameters that hold all experts of a mixture, e.g. `gate_up_proj`. */
  std::vector<std::string> target_parameters = {};
  bool rslora = false;
  /** Regular expression for the end of a name -> value; the first that matches counts. */
  std::vector<std::pair<std::string, int>> rank_pattern = {};
  std::vector<std::pair<std::string, double>> alpha_pattern = {};
  /** Layer indices; absent = all. */
  std::optional<std::vector<int>> layers_to_transform = std::nullopt;
  /** A scalar head is trained beside the LoRA (core/modules.h). */
  bool scalar_head = false;
};

/** adapter_config.json; what is not run here is unsupported_model, never ignored. */
LoraConfig read_lora_config(const std::string& file);

/**
 * Which modules the configuration adapts and how, by PEFT's rules; "all-linear" leaves experts out, which
 * transformers 5 no longer holds as modules. Throws invalid_argument where nothing matches and unsupported_model
 * where a target is a module that LoRA does not run on here (embeddings, head, some of a layer's experts).
 */
LoraSites lora_sites(const LoraConfig& config, const std::vector<LinearModule>& modules);

struct Adapter {
  LoraSites sites;
  /** By the names of core/modules.h, f32. */
  Params params;
};

/**
 * A PEFT folder: adapter_config.json and adapter_model.safetensors. A feature that is not run here (DoRA,
 * modules_to_save, a trained bias ...), a missing, a misshapen or an unknown tensor is an error.
 */
Adapter load_adapter(const std::string& dir, const std::vector<LinearModule>& modules);

/** adapter_model.safetensors as PEFT writes it (io/peft_tensors.h), f32. */
void save_adapter(
    const Params& params,
    const std::vector<LinearModule>& modules,
    const std::string& file);

}  // namespace atelier
