#pragma once

#include "core/error.h"
#include "io/gguf_writer.h"
#include "models/config.h"

#include <optional>
#include <string>
#include <vector>

namespace atelier {

/** What a GGUF file says of a model, and what of its tensors llama.cpp holds in another way. */
struct GgufForm {
  /** `general.*` and `<architecture>.*`. */
  std::vector<GgufEntry> metadata;
  int heads = 0, kv_heads = 0;
  /** Of a mixture; 0: there is none. */
  int experts = 0;
  /** Divisors of the rotary frequencies [head_dim / 2]; empty: none is divided. */
  std::vector<float> divisors;
};

/**
 * As llama.cpp's converter has it (conversion/, of the time of gguf 0.19.0); type: F32, F16 or Q8_0. unsupported_model
 * for a family without a mapping here, and for what a model has that llama.cpp does not read from a file but takes for
 * granted of its family.
 */
GgufForm gguf_form(const ModelConfig& config, const std::string& type);

/** Why gguf_form refuses a model; nullopt: it does not. */
std::optional<Error> gguf_refusal(const ModelConfig& config);

}  // namespace atelier
