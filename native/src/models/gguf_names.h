#pragma once

#include <map>
#include <string>

namespace atelier {

/** Where a GGUF file holds one of transformers' tensors. */
struct GgufName {
  std::string tensor;
  /** Of a tensor that holds all experts of a mixture [experts, out, in]: which one; -1: all of it. */
  int expert = -1;
};

/**
 * transformers' names of a decoder's tensors -> GGUF's (gguf 0.19.0, tensor_mapping.py), of all that may be there.
 * `family` is config.json's model_type; experts: of a mixture, 0: there is none.
 */
std::map<std::string, GgufName> gguf_names(const std::string& family, int layers, int experts = 0);

/** general.architecture -> model_type; itself where llama.cpp has no name of its own for the family. */
std::string gguf_family(const std::string& architecture);
/** model_type -> general.architecture: that of files which llama.cpp's converter writes for the family. */
std::string gguf_architecture(const std::string& family);

/**
 * Whether rows of q and k stand so that rope pairs neighbours, not halves: llama.cpp's converter turns them for Llama
 * and what derives from it (conversion/llama.py).
 */
bool rotates_neighbours(const std::string& family);

/** Whether norms are stored with the 1 added that the family adds to them (conversion/gemma.py). */
bool stores_one_plus_norms(const std::string& family);

/** Divisors of the rotary frequencies of Llama 3.1 and later [head_dim / 2]. */
inline constexpr const char* gguf_rope_scaling = "rope_freqs.weight";

}  // namespace atelier
