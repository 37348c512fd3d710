#pragma once

#include "models/load.h"

namespace atelier {

/**
 * A model from a checkpoint's tensors (transformers' names). They must be exactly those that the configuration
 * asks for, in its shapes; `where` names their file in messages.
 */
LoadedModel assemble(
    std::shared_ptr<const Model> model,
    Params tensors,
    mx::Dtype dtype,
    const std::string& where);

}  // namespace atelier
