#pragma once

#include "train/rules/rule.h"
#include "train/trainable.h"

#include <string>
#include <vector>

namespace atelier {

struct OptimizerSpec {
  enum class Kind { adamw, adamw_8bit, adam, adafactor, muon, sgd } kind = Kind::adamw;
  double weight_decay = 0;
  /** Norms, biases and embeddings decay as well. */
  bool decay_all = false;
  /** Of AdamW and Adam, and of what Muon leaves to AdamW. */
  AdamWConstants adamw;
  /** Adafactor's. */
  bool relative = true;
  /** Muon's and SGD's. */
  double momentum = 0.95;
  bool match_adamw = true;
};

/** As files and native/face.ts name it. */
std::string kind_name(OptimizerSpec::Kind kind);

/** sqrt of the sum of squares over all arrays, f32 scalar (torch.nn.utils.clip_grad_norm_). */
mx::array global_norm(const std::vector<mx::array>& gradients);

/** min(1, max_norm / (norm + 1e-6)), as torch. */
double clip_coefficient(double norm, double max_norm);

/** What is trained, how, and how far it has come. */
class Optimizer {
 public:
  /** Throws invalid_argument where the rule does not suit what is trained. */
  Optimizer(Trainable what, const OptimizerSpec& how);

  const Trainable& trainable() const {
    return trainable_;
  }

  /**
   * One update by gradients of the masters, multiplied by `scale` (the clip coefficient) first. It goes on a share of
   * the parameters at a time, so that old and new states of all are never held at once. One that fails before the
   * first share is done has changed nothing; after it the optimiser refuses to go on or to be saved.
   */
  void update(const std::vector<mx::array>& gradients, double learning_rate, double scale);

  /**
   * One safetensors file: `<state>.<name>` of each parameter, and `master.<name>` where the weights are stored in
   * another type; kind and number of updates in its metadata. Throws non_finite, and writes nothing then.
   */
  void save(const std::string& file) const;
  /** Throws invalid_file where the file is not this optimiser's; then nothing has changed. */
  void load(const std::string& file);

 private:
  void refuse_torn() const;

  Trainable trainable_;
  OptimizerSpec::Kind kind_;
  std::vector<RulePtr> rules_;
  std::vector<Params> states_;
  int64_t steps_ = 0;
  bool torn_ = false;
};

}  // namespace atelier
