// Llama 2, 3.x, SmolLM2 and their like (transformers 5.24.0, configuration_llama.py).
#include "models/families.h"

namespace atelier {

ModelConfig read_llama(const ConfigReader& reader) {
  reader.require("sliding_window", {});
  return reader.dense("llama", std::nullopt);
}

}  // namespace atelier
