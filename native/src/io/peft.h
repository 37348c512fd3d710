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
  /** Whether a pattern that gives no adapted module its value is an error. PEFT passes over it, and so over a typo. */
  bool patterns_must_match = false;
  /** Layer indices; absent = all. */
  std::optional<std::vector<int>> layers_to_transform = std::nullopt;
  /** A scalar head is trained beside the LoRA (core/modules.h). */
  bool scalar_head = false;
  bool dora = false;
  /** Modules trained and saved whole: "lm_head", "embed_tokens". */
  std::vector<std::string> modules_to_save = {};
  /** A tied head follows an embedding that is saved whole; otherwise it stays the base's. */
  bool ensure_weight_tying = false;
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
  /** By the names of core/modules.h, f32; `<module>.weight` of the modules that are saved whole. */
  Params params;
  /** transformers' names of the modules that are saved whole: lm_head, model.embed_tokens. */
  std::vector<std::string> saved = {};
  /** See LoraConfig. */
  bool ensure_weight_tying = false;
};

/**
 * transformers' names of what `modules_to_save` names. Others than embedding and head are unsupported_model. A tied
 * head that shall follow a saved embedding is not saved for itself.
 */
std::vector<std::string> saved_modules(const LoraConfig& config);

/**
 * A PEFT folder: adapter_config.json and adapter_model.safetensors, of the text model or of one that sees pictures and
 * holds it. A feature that is not run here (a trained bias,
 * aLoRA ...), a missing, a misshapen or an unknown tensor is an error. `embedding` is the shape of embedding and head.
 */
Adapter load_adapter(
    const std::string& dir,
    const std::vector<LinearModule>& modules,
    const mx::Shape& embedding);

/** adapter_model.safetensors as PEFT writes it (io/peft_tensors.h), f32. */
void save_adapter(
    const Params& params,
    const std::vector<LinearModule>& modules,
    const std::string& file);

}  // namespace atelier
