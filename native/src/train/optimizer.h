#pragma once

#include "train/adamw.h"
#include "train/trainable.h"

#include <string>

namespace atelier {

/** What is trained, how, and how far it has come. */
struct Optimizer {
  Trainable trainable;
  AdamWSpec spec;
  AdamWState state;

  Optimizer(Trainable what, const AdamWSpec& how);
};

/**
 * One safetensors file: `m.<name>`, `v.<name>` (and `master.<name>` where the weights are stored in another
 * type), names as transformers' or PEFT's; the number of updates in its metadata.
 */
void save_optimizer(const Optimizer& optimizer, const std::string& file);

/** Throws invalid_file where the file is not this optimiser's; then nothing has changed. */
void load_optimizer(Optimizer& optimizer, const std::string& file);

}  // namespace atelier
