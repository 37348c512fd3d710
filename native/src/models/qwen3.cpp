// Qwen3, dense (transformers 5.24.0, configuration_qwen3.py): RMS norms on the heads of q and k.
#include "models/families.h"

namespace atelier {

ModelConfig read_qwen3(const ConfigReader& reader) {
  // Checkpoints carry a sliding_window that use_sliding_window = false (checked by dense) leaves unused.
  ModelConfig config = reader.dense("qwen3", 128);
  config.qk_norm = true;
  return config;
}

}  // namespace atelier
