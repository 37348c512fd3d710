#include "infer/generate.h"

#include "infer/scheduler.h"

namespace atelier {

std::vector<GeneratedRow> generate(
    const Model& model,
    const Params& weights,
    const Params& lora,
    const GenerateRequest& request,
    const OnProgress& on_progress,
    const std::atomic<bool>* cancel) {
  Scheduler scheduler(model, weights, lora, request);
  while (!scheduler.done() && !(cancel && cancel->load())) {
    const std::vector<NewToken> tokens = scheduler.step();
    if (on_progress) {
      on_progress(tokens, scheduler.finished());
    }
  }
  const std::vector<NewToken> rest = scheduler.rest();
  if (on_progress && !rest.empty()) {
    on_progress(rest, scheduler.finished());
  }
  return scheduler.take();
}

}  // namespace atelier
