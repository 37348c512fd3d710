#pragma once

#include <map>
#include <string>

namespace atelier {

/**
 * A linear module as transformers names it, and where its rows stand in the engine's product: modules that
 * read the same input (q, k, v; gate, up) are stacked into one matrix, so that they cost one product.
 */
struct LinearModule {
  /** transformers' full name, e.g. `model.layers.0.self_attn.q_proj`. */
  std::string name;
  /** The product that computes it, e.g. `model.layers.0.self_attn.qkv_proj`. */
  std::string product;
  int in;
  int out;
  /** Its outputs are [row, row + out) of the product's. */
  int row;
};

/** Rank and effective scale (alpha / rank, or alpha / sqrt(rank) with rsLoRA) of one adapted module. */
struct LoraSite {
  int rank;
  float scale;
};

/** By transformers' module name. */
using LoraSites = std::map<std::string, LoraSite>;

/** Names of an adapter's parameters: A [rank, in] and B [out, rank]. */
inline std::string lora_a(const std::string& module) {
  return module + ".lora_A.weight";
}
inline std::string lora_b(const std::string& module) {
  return module + ".lora_B.weight";
}

}  // namespace atelier
