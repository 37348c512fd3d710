#pragma once

#include "models/load.h"

namespace atelier {

/** A model from the tensors that it asks for (transformers' names; check_tensors). */
LoadedModel assemble(std::shared_ptr<const Model> model, Params tensors, mx::Dtype dtype);

}  // namespace atelier
