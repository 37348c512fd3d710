#pragma once

#include <map>
#include <string>

namespace atelier {

/** How a module of linear maps stands in files. */
enum class ModuleKind {
  /** `<name>.weight` [out, in]. */
  linear,
  /** A module for each expert of a mixture, the `*` in the name standing for its number. */
  each_expert,
  /** One parameter `<name>` [experts, out, in] for all experts of a mixture. */
  all_experts,
};

/**
 * A linear module as transformers names it, and where its rows stand in the engine's product: modules that
 * read the same input (q, k, v; gate, up) are stacked into one matrix, so that they cost one product. The experts of
 * a mixture make one module here, and their matrices one product [experts, out, in].
 */
struct LinearModule {
  /** transformers' full name, e.g. `model.layers.0.self_attn.q_proj`, `model.layers.0.mlp.experts.*.up_proj`. */
  std::string name;
  /** The product that computes it, e.g. `model.layers.0.self_attn.qkv_proj`. */
  std::string product;
  int in;
  int out;
  /** Its outputs are [row, row + out) of the product's. */
  int row;
  /** `<name>.bias` [out] is added. Not with experts. */
  bool bias = false;
  ModuleKind kind = ModuleKind::linear;
  /** 0: no mixture. */
  int experts = 0;
  /** False: checkpoints hold its weights as other modules of the list; for adapters alone. */
  bool stored = true;
};

/** The name of one expert's module. */
inline std::string expert_name(const std::string& name, int expert) {
  const size_t at = name.find('*');
  return name.substr(0, at) + std::to_string(expert) + name.substr(at + 1);
}

/** Rank and effective scale (alpha / rank, or alpha / sqrt(rank) with rsLoRA) of one adapted module. */
struct LoraSite {
  int rank;
  float scale;
  /** Its rows keep the length of a trained vector (DoRA, arXiv 2402.09353). */
  bool dora = false;
};

/** By transformers' module name. */
using LoraSites = std::map<std::string, LoraSite>;

/** Names of an adapter's parameters: A [rank, in] and B [out, rank]; of experts [experts, rank, in], [experts, out, rank]. */
inline std::string lora_a(const std::string& module) {
  return module + ".lora_A.weight";
}
inline std::string lora_b(const std::string& module) {
  return module + ".lora_B.weight";
}
/** DoRA's lengths [out]. */
inline std::string lora_magnitude(const std::string& module) {
  return module + ".lora_magnitude_vector";
}

/**
 * An adapter's (or a reward model's) linear head over the final hidden state, [1, D]: PEFT's and transformers' name
 * of that of a sequence-classification model.
 */
inline const std::string scalar_head_name = "score.weight";

}  // namespace atelier
