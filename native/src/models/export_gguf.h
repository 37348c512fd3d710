#pragma once

#include "io/gguf_writer.h"
#include "models/merged.h"

#include <atomic>

namespace atelier {

/**
 * A merged checkpoint as one GGUF file for llama.cpp (gguf 0.19.0): matrices as `type` (F32, F16 or Q8_0; rows that do
 * not divide into Q8_0's blocks as F16, as its converter does), vectors as F32. `text` is the tokenizer's metadata.
 * unsupported_model for a reward model and where gguf_form has it.
 */
void export_gguf(
    const MergedCheckpoint& merged,
    const std::string& file,
    const std::string& type,
    std::vector<GgufEntry> text,
    const std::atomic<bool>& cancelled);

}  // namespace atelier
