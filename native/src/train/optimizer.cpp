#include "train/optimizer.h"

#include "core/error.h"

#include <algorithm>

namespace atelier {
namespace {

// Bytes of parameters that move at once: old and new numbers, and what a rule makes between them, are there together.
// A GPU wants much to do at a time.
size_t share_bytes() {
  return mx::default_device() == mx::Device::cpu ? size_t{8} << 20 : size_t{256} << 20;
}

RulePtr rule_for(const OptimizerSpec& spec, const Parameter& parameter) {
  using Kind = OptimizerSpec::Kind;
  const bool matrix = parameter.kind == ParameterKind::matrix;
  const bool decays = spec.decay_all || matrix || parameter.kind == ParameterKind::head;
  const double decay = decays ? spec.weight_decay : 0;
  switch (spec.kind) {
    case Kind::adamw_8bit:
      return adamw_8bit_rule(spec.adamw, decay);
    case Kind::adam:
      return adam_rule(spec.adamw, decay);
    case Kind::adafactor:
      return adafactor_rule(spec.relative, decay);
    case Kind::muon:
      if (matrix) {
        return muon_rule(spec.momentum, spec.match_adamw, decay);
      }
      break;
    case Kind::sgd:
      return sgd_rule(spec.momentum, decay);
    case Kind::adamw:
      break;
  }
  return adamw_rule(spec.adamw, decay);
}

}  // namespace

std::string kind_name(OptimizerSpec::Kind kind) {
  switch (kind) {
    case OptimizerSpec::Kind::adamw:
      return "adamw";
    case OptimizerSpec::Kind::adamw_8bit:
      return "adamw-8bit";
    case OptimizerSpec::Kind::adam:
      return "adam";
    case OptimizerSpec::Kind::adafactor:
      return "adafactor";
    case OptimizerSpec::Kind::muon:
      return "muon";
    case OptimizerSpec::Kind::sgd:
      return "sgd";
  }
  return "";
}

mx::array global_norm(const std::vector<mx::array>& gradients) {
  std::vector<mx::array> squares;
  for (const auto& g : gradients) {
    squares.push_back(mx::sum(mx::square(mx::astype(g, mx::float32))));
  }
  return mx::sqrt(mx::sum(mx::stack(squares)));
}

double clip_coefficient(double norm, double max_norm) {
  return std::min(1.0, max_norm / (norm + 1e-6));
}

Optimizer::Optimizer(Trainable what, const OptimizerSpec& how)
    : trainable_(std::move(what)), kind_(how.kind) {
  if (kind_ == OptimizerSpec::Kind::muon && !trainable_.trains_head()) {
    throw Error(
        ErrorCode::invalid_argument,
        "spec.kind is 'muon'; it is for training all parameters, not for an adapter",
        "Choose AdamW for the adapter.");
  }
  // These move each number by itself, so all of an adapter's can move as one: hundreds of small operations less.
  const bool by_number = kind_ == OptimizerSpec::Kind::adamw || kind_ == OptimizerSpec::Kind::sgd;
  if (by_number) {
    trainable_.join();
  }
  for (const Parameter& parameter : trainable_.parameters()) {
    if (parameter.master == rules_.size()) {
      rules_.push_back(rule_for(how, parameter));
      states_.push_back(rules_.back()->start(trainable_.masters()[parameter.master].shape()));
    }
  }
}

void Optimizer::refuse_torn() const {
  if (torn_) {
    throw Error(
        ErrorCode::internal,
        "An update ended halfway: some parameters have moved, others have not",
        "Go on from the last checkpoint.");
  }
}

void Optimizer::update(
    const std::vector<mx::array>& gradients,
    double learning_rate,
    double scale) {
  refuse_torn();
  const Pace pace{learning_rate, steps_ + 1};
  const auto& masters = trainable_.masters();
  const size_t share = share_bytes();
  for (size_t from = 0, to = 0; from < masters.size(); from = to) {
    std::vector<mx::array> moved, wanted;
    std::vector<Params> states;
    for (size_t bytes = 0; to < masters.size() && (to == from || bytes < share); to++) {
      auto g = gradients[to];
      if (scale != 1.0) {
        g = g * mx::array(static_cast<float>(scale));
      }
      states.push_back(states_[to]);
      moved.push_back(rules_[to]->move(masters[to], g, states.back(), pace));
      bytes += masters[to].nbytes();
    }
    wanted = moved;
    for (const auto& state : states) {
      for (const auto& [name, array] : state) {
        wanted.push_back(array);
      }
    }
    // The last share's new numbers are on their way: who reads them waits.
    if (to < masters.size()) {
      mx::eval(wanted);
    } else {
      mx::async_eval(wanted);
    }
    torn_ = true;
    for (size_t i = from; i < to; i++) {
      trainable_.move(i, std::move(moved[i - from]));
      states_[i] = std::move(states[i - from]);
    }
  }
  trainable_.publish();
  steps_++;
  torn_ = false;
}

}  // namespace atelier
