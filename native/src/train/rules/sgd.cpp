#include "train/rules/adamw.h"

namespace atelier {
namespace {

class Sgd : public Rule {
 public:
  Sgd(double momentum, double decay) : momentum_(momentum), decay_(decay) {}

  Params start(const mx::Shape& shape) const override {
    return momentum_ == 0 ? Params{} : Params{{"momentum", mx::zeros(shape, mx::float32)}};
  }

  mx::array move(const mx::array& p, const mx::array& g, Params& state, const Pace& pace)
      const override {
    auto step = decay_ == 0 ? g : g + p * f32(decay_);
    if (momentum_ != 0) {
      step = state.at("momentum") * f32(momentum_) + step;
      state.insert_or_assign("momentum", step);
    }
    return p - step * f32(pace.learning_rate);
  }

 private:
  double momentum_;
  double decay_;
};

}  // namespace

RulePtr sgd_rule(double momentum, double decay) {
  return std::make_shared<Sgd>(momentum, decay);
}

}  // namespace atelier
