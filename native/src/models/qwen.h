#pragma once

#include "models/config_reader.h"
#include "models/parts/attention.h"

namespace atelier {

// What several Qwen families share.

/** Their checkpoints carry a sliding_window that use_sliding_window = false leaves unused; one in use is not run. */
void refuse_sliding_window(const ConfigReader& reader);

/** Llama's attention with RMS norms on the heads of q and k (Qwen3). */
AttentionOptions qwen3_attention(const DenseConfig& config, int layer);

}  // namespace atelier
