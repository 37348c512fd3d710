#pragma once

#include <map>
#include <string>

namespace atelier {

/** transformers' names of a decoder's tensors -> GGUF's (gguf 0.19.0, tensor_mapping.py), of all that may be there. */
std::map<std::string, std::string> gguf_names(int layers);

/** Divisors of the rotary frequencies of Llama 3.1 and later [head_dim / 2]. */
inline constexpr const char* gguf_rope_scaling = "rope_freqs.weight";

}  // namespace atelier
