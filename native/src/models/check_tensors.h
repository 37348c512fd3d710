#pragma once

#include "models/model.h"

#include <map>
#include <string>

namespace atelier {

/** By transformers' names. */
using TensorShapes = std::map<std::string, mx::Shape>;

/**
 * Holds a checkpoint's tensors against what the configuration asks for: exactly those, in its shapes. A tied model
 * may store its head as well. `where` names the file in messages.
 */
void check_tensors(const Model& model, const TensorShapes& found, const std::string& where);

}  // namespace atelier
