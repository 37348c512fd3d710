#pragma once

#include "train/forward.h"
#include "train/objective.h"
#include "train/optimizer.h"
#include "train/quantities.h"
#include "train/ranks.h"

#include <atomic>
#include <functional>
#include <optional>

namespace atelier {

struct StepRequest {
  /** None, or all skipped: the gradient is zero. */
  Rows rows;
  /** [N] trajectory of each row; empty: each row its own. */
  std::vector<int32_t> trajectories;
  /** [S] group of each trajectory; empty: all in one. */
  std::vector<int32_t> groups;
  /** [S] 1: counts, but is not forwarded; empty: none. */
  std::vector<uint8_t> skip;
  /** JSON of a loss program. */
  std::string program;
  Numbers inputs;
  float temperature = 1.0f;
  double learning_rate = 0;
  std::optional<double> max_grad_norm;
  /** Padded tokens forwarded and differentiated at once at most. */
  int micro_tokens = 8192;
  /** Input tokens of a line that rows are packed on; 0: each row its own. */
  int pack_tokens = 0;
  bool recompute = false;
  std::optional<EmbeddingNoise> noise;
};

struct StepResult {
  double loss = 0;
  std::map<std::string, double> metrics;
  /** Before clipping. */
  double grad_norm = 0;
  /** False where loss or gradient was not finite: then nothing has changed. */
  bool updated = false;
  /** Tokens forwarded, without padding. */
  int64_t tokens = 0;
  /** Memory at its peak until the gradient stood; the update comes after. */
  uint64_t gradient_peak_bytes = 0;
};

/** Throws out_of_memory where there is no room for `wanted` bytes (Engine::check_room); empty: nothing is refused. */
using CheckRoom =
    std::function<void(uint64_t wanted, const std::string& what, const std::string& instead)>;

/** The objective's value over all rows and its gradient by the masters, in their order. */
struct Gradients {
  double loss = 0;
  program::Parts parts;
  std::vector<mx::array> by_master;
  int64_t tokens = 0;
};

/**
 * Of all ranks' shares, the same on each. Checks `check_room` before the first micro-batch and `cancelled` before each,
 * and throws, as all ranks do then; nothing has changed.
 */
Gradients gradients(
    const Trainable& trainable,
    Objective& objective,
    const StepRequest& request,
    const std::optional<Teacher>& teacher,
    const std::atomic<bool>& cancelled,
    const Ranks& ranks = {},
    const CheckRoom& check_room = {});

/** Forward, backward, clip, update. */
StepResult train_step(
    Optimizer& optimizer,
    const StepRequest& request,
    const std::optional<Teacher>& teacher,
    const std::atomic<bool>& cancelled,
    const Ranks& ranks = {},
    const CheckRoom& check_room = {});

}  // namespace atelier
