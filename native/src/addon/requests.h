#pragma once

#include "addon/fields.h"
#include "engine/engine.h"

namespace atelier {

// The requests of native/face.ts, read and checked as far as they can be without the model.

/** `quantize` of a request. */
std::optional<Quantise> read_quantise(const Fields& request);
EngineOptions read_engine_options(const Fields& options);
LoraConfig read_lora(const Fields& spec);
OptimizerSpec read_optimizer_spec(const Fields& spec);
Rows read_rows(const Fields& request);
/** null or absent: none. */
std::optional<int> read_adapter(const Fields& request);
int read_id(const Fields& request, const char* key);

GenerateRequest read_generate(const Fields& request);
ScoreOptions read_score(const Fields& request);
StepRequest read_step(const Fields& request);
ProgramRequest read_program(const Fields& request);

}  // namespace atelier
