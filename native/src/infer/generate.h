#pragma once

#include "infer/sampler.h"
#include "models/model.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace atelier {

enum class Finish { stop, length, cancelled };

struct GenerateRequest {
  /** Each at least one id. */
  std::vector<std::vector<int32_t>> prompts;
  /** Completions of each prompt; a prompt is prefilled once for all of them. */
  int samples_per_prompt = 1;
  int max_new_tokens = 16;
  Sampling sampling;
  std::vector<int32_t> stop_ids;
  uint64_t seed = 0;
  /** One a row, prompt-major; empty = 0, 1, 2 ... */
  std::vector<uint32_t> rollout_ids;
  /** Rows decoded at once at most. */
  int max_rows = 256;
};

struct GeneratedRow {
  int prompt = 0;
  std::vector<int32_t> ids;
  std::vector<float> logprob;
  std::vector<float> raw_logprob;
  Finish finish = Finish::cancelled;
};

/** A token that just appeared. */
struct NewToken {
  int row;
  int32_t id;
};

using OnProgress = std::function<void(const std::vector<NewToken>& tokens, int finished)>;

/**
 * All rows, prompt-major. `lora` is stacked (nn/lora.h), empty for the base alone. `cancel` is looked at
 * before every step: unfinished rows end as `cancelled` with what they have. `on_progress` is called once a
 * step on this thread.
 */
std::vector<GeneratedRow> generate(
    const Model& model,
    const Params& weights,
    const Params& lora,
    const GenerateRequest& request,
    const OnProgress& on_progress = {},
    const std::atomic<bool>* cancel = nullptr);

}  // namespace atelier
