#pragma once

#include "train/forward.h"
#include "train/router_loss.h"

#include <atomic>
#include <map>
#include <optional>
#include <string>

namespace atelier {

/** An engine quantity (shared/program, ENGINE_QUANTITIES) that is wanted of a forward pass. */
struct Wanted {
  std::string name;
  std::map<std::string, double> options = {};
  /** It will be differentiated. */
  bool gradient = false;
};

/** Whose distribution a divergence is taken from. */
struct Teacher {
  std::shared_ptr<const Model> model;
  Bound bound;
};

/** By name: [T] in the order of the micro-batch, but `score` [R], one a row of it. f32, lazy, differentiable. */
using Quantities = std::map<std::string, mx::array>;

struct QuantityOptions {
  std::vector<Wanted> wanted;
  /** Logits are divided by it, but those of divergences, which have their own. */
  float temperature = 1.0f;
  /** The head's weight gets a gradient too. */
  bool train_head = false;
  /** How the student's hidden states are made. */
  ForwardOptions forward = {};
  /** `score` is read after a row's last token that is not this one; absent: after its last. */
  std::optional<int> pad_token = {};
};

/**
 * The rows of one request, and what is wanted of them.
 * Throws invalid_argument where a quantity is unknown, or wants a teacher that is not there.
 */
class Forward {
 public:
  Forward(const Rows& rows, QuantityOptions options, std::optional<Teacher> teacher = {});

  /** A micro-batch with what does not depend on what is trained. */
  struct Batch {
    PaddedBatch padded;
    /** Each row's target and end positions among those of `padded`; absent where these are the targets alone. */
    std::optional<mx::array> target_T, end_R;
    std::optional<mx::array> teacher_TD;
    /** Each target's place in the request's [T]. */
    std::vector<int64_t> place_T;
    /** The target that each position's share of routerAux is given to: its own; a row's end, the one before it. */
    std::vector<int32_t> share_of_position;
  };
  Batch prepare(const MicroBatch& micro) const;
  /**
   * For routerAux: how the experts are used by all micro-batches of a step, without gradient; costs a forward of each.
   * Throws invalid_argument where the model has no router.
   */
  ExpertCounts count_experts(
      const Model& model,
      const Bound& bound,
      const std::vector<MicroBatch>& step,
      const std::atomic<bool>& cancelled) const;
  /** What `make` takes for the whole step's use. */
  void use_experts(const ExpertCounts& counts);

  /** Throws invalid_argument where the scalar head is wanted and there is none. */
  Quantities make(const Model& model, const Bound& bound, const Batch& batch) const;

  bool wants(const std::string& name) const;

 private:
  /** Rows are forwarded with their last token. */
  bool with_ends() const {
    return wants("score") || wants("routerAux");
  }
  /** Padding that the row itself ends with; never all of it. */
  int pads_at_end(int row) const;
  mx::array router_aux(const std::vector<mx::array>& router_logits, const Batch& batch) const;
  mx::array over_vocabulary(
      const Wanted& wanted,
      const mx::array& hidden_TD,
      const Weight& head,
      const mx::array& targets_T,
      const Batch& batch) const;

  QuantityOptions options_;
  std::optional<Teacher> teacher_;
  std::optional<ExpertUse> use_;
  Rows rows_;
  RowOffsets offsets_, targets_;
};

}  // namespace atelier
