#include "train/rules/adamw.h"

#include "kernels/adamw.h"

#include <cmath>

namespace atelier {

mx::array f32(double x) {
  return mx::array(static_cast<float>(x));
}

mx::array decayed(const mx::array& parameter, const Pace& pace, double decay) {
  return decay == 0 ? parameter : parameter * f32(1 - pace.learning_rate * decay);
}

mx::array adamw_move(
    const AdamWConstants& c,
    double decay,
    const mx::array& parameter,
    const mx::array& g,
    Moments& moments,
    const Pace& pace) {
  const auto steps = static_cast<double>(pace.step);
  auto number = [](double x) { return static_cast<float>(x); };
  const AdamWNumbers numbers{
      number(c.beta1),
      number(c.beta2),
      number(c.epsilon),
      number(1 - c.beta1),
      number(1 - c.beta2),
      number(1 - pace.learning_rate * decay),
      number(pace.learning_rate / (1 - std::pow(c.beta1, steps))),
      number(1 / std::sqrt(1 - std::pow(c.beta2, steps)))};
  const auto move = adamw_fits_gpu(parameter)    ? adamw_gpu
                    : cpu_kernels_for(parameter) ? adamw_cpu
                                                 : adamw_plain;
  const AdamWMoved moved = move(parameter, g, moments.m, moments.v, numbers);
  moments = {moved.m, moved.v};
  return moved.parameter;
}

namespace {

class AdamW : public Rule {
 public:
  AdamW(const AdamWConstants& constants, double decay) : constants_(constants), decay_(decay) {}

  Params start(const mx::Shape& shape) const override {
    return {{"m", mx::zeros(shape, mx::float32)}, {"v", mx::zeros(shape, mx::float32)}};
  }

  mx::array move(const mx::array& p, const mx::array& g, Params& state, const Pace& pace)
      const override {
    Moments moments{state.at("m"), state.at("v")};
    auto moved = adamw_move(constants_, decay_, p, g, moments, pace);
    state.insert_or_assign("m", moments.m);
    state.insert_or_assign("v", moments.v);
    return moved;
  }

 private:
  AdamWConstants constants_;
  double decay_;
};

class AdamL2 : public Rule {
 public:
  AdamL2(const AdamWConstants& constants, double decay)
      : decay_(decay), undecayed_(adamw_rule(constants, 0)) {}

  Params start(const mx::Shape& shape) const override {
    return undecayed_->start(shape);
  }

  mx::array move(const mx::array& p, const mx::array& g, Params& state, const Pace& pace)
      const override {
    return undecayed_->move(p, g + p * f32(decay_), state, pace);
  }

 private:
  double decay_;
  RulePtr undecayed_;
};

}  // namespace

RulePtr adamw_rule(const AdamWConstants& constants, double decay) {
  return std::make_shared<AdamW>(constants, decay);
}

RulePtr adam_rule(const AdamWConstants& constants, double decay) {
  return decay == 0 ? adamw_rule(constants, 0) : std::make_shared<AdamL2>(constants, decay);
}

}  // namespace atelier
