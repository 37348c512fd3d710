#pragma once

#include "io/peft.h"
#include "models/load.h"

namespace atelier {

/** What a forward is made with; both may hold tracers. */
struct Bound {
  Params weights;
  /** Stacked (nn/lora.h). */
  Params lora;
  /** [1, D] f32, of the adapter, else of the model; absent where neither has one. */
  std::optional<mx::array> scalar_head;
};

/** Weights without an adapter. */
Bound bind_weights(Params weights);
Bound bind_model(const LoadedModel& model);

/**
 * A model with an adapter whose parameters are `params` (by the names of Adapter::params, any of them tracers):
 * its modules that are saved whole in place of the base's, LoRA beside the rest. A head that is tied in the base
 * stays the base's embedding, unless the adapter has a head or ties it to its own embedding.
 */
Bound bind_adapter(const LoadedModel& base, const Adapter& adapter, const Params& params);

/** The adapter trains the matrix that makes the logits. */
bool trains_head(const LoadedModel& base, const Adapter& adapter);

}  // namespace atelier
