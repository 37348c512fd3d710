#pragma once

#include "io/peft.h"
#include "models/load.h"

#include <cstdint>

namespace atelier {

/**
 * A new adapter as peft 0.21.2 starts it (LoraLayer.reset_lora_parameters): A kaiming uniform with
 * a = sqrt(5), that is uniform in +-1/sqrt(in); B zero; DoRA's lengths and the modules that are saved whole as the
 * base has them. Each A is a function of (seed, its module) alone.
 */
Adapter init_adapter(const LoraConfig& config, const LoadedModel& base, uint64_t seed);

}  // namespace atelier
