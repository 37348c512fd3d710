#pragma once

#include "core/modules.h"
#include "core/params.h"

#include <map>
#include <string>
#include <vector>

namespace atelier {

// An adapter's parameters as PEFT's files hold them (peft 0.21.2): `base_model.model.<module>.lora_A.weight` [r, in]
// and `.lora_B.weight` [out, r]; a module of experts has one of each for every expert. A parameter of all experts
// (LoraConfig.target_parameters, ParamWrapper) has A [E r, in] and B [out, r E] under the name of the module that
// owns it; where it owns several, all but the last under `.base_layer` once more for each that follows.

// DoRA's lengths are `.lora_magnitude_vector` [out]; a module that is saved whole is `base_model.model.<module>.weight`.

/** The tensors of a file from parameters by the names of core/modules.h. */
Params peft_tensors(const Params& params, const std::vector<LinearModule>& modules);

/** Whether a file holds the adapter of any expert of a module of experts (ModuleKind::each_expert). */
bool holds_experts(const Params& tensors, const LinearModule& module);

/**
 * Its inverse: the parameters of `sites`, and the tensors `whole` with their shapes. Throws invalid_file where a tensor is missing, misshapen or belongs to no
 * module that is adapted; `file` names it in messages.
 */
Params adapter_params(
    Params tensors,
    const LoraSites& sites,
    const std::map<std::string, mx::Shape>& whole,
    const std::vector<LinearModule>& modules,
    const std::string& file);

}  // namespace atelier
