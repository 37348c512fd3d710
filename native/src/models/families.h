#pragma once

#include "models/config_reader.h"

namespace atelier {

/** One function a family: its configuration from its config.json. */
ModelConfig read_llama(const ConfigReader& reader);
ModelConfig read_qwen3(const ConfigReader& reader);

}  // namespace atelier
