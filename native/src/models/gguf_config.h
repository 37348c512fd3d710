#pragma once

#include "io/gguf.h"
#include "models/config.h"

namespace atelier {

/** The configuration that a GGUF file's metadata and tensor shapes describe; `file` names it in messages. */
ModelConfig gguf_config(const GgufHeader& header, const std::string& file);

}  // namespace atelier
