#pragma once

#include "core/modules.h"
#include "models/model.h"

namespace atelier {

/** The tensors in which checkpoints hold the modules. */
std::vector<TensorSpec> module_tensors(const std::vector<LinearModule>& modules);

/** Model::stack and unstack of the modules' tensors; others are passed through. */
Params stack_modules(const std::vector<LinearModule>& modules, const Params& checkpoint);
Params unstack_modules(const std::vector<LinearModule>& modules, const Params& weights);

}  // namespace atelier
