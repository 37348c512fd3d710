#pragma once

#include "io/gguf.h"
#include "io/json.h"

namespace atelier {

/**
 * The configuration that a GGUF file's metadata and tensor shapes describe, as transformers would write it in
 * config.json; `file` names it in messages.
 */
Json gguf_config(const GgufHeader& header, const std::string& file);

}  // namespace atelier
