#pragma once

#include "models/load.h"

namespace atelier {

/** check_model (load.h) of one .gguf file. */
std::shared_ptr<const Model> check_gguf_model(const std::string& file);

/** One .gguf file of a family that is run here: configuration from its metadata, weights dequantised. */
LoadedModel load_gguf_model(const std::string& file, mx::Dtype dtype);

}  // namespace atelier
