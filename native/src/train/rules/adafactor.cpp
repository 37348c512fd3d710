#include "train/rules/adamw.h"

#include <cmath>
#include <limits>

namespace atelier {
namespace {

// torch's defaults
constexpr double beta2_decay = -0.8;
constexpr double least_scale = 1e-3;
constexpr double largest_rms = 1.0;

mx::array rms(const mx::array& x) {
  return mx::sqrt(mx::mean(mx::square(x)));
}

class Adafactor : public Rule {
 public:
  Adafactor(bool relative, double decay) : relative_(relative), decay_(decay) {}

  Params start(const mx::Shape& shape) const override {
    if (shape.size() < 2) {
      return {{"v", mx::zeros(shape, mx::float32)}};
    }
    auto rows = shape, columns = shape;
    rows[shape.size() - 1] = 1;
    columns[shape.size() - 2] = 1;
    return {{"rows", mx::zeros(rows, mx::float32)}, {"columns", mx::zeros(columns, mx::float32)}};
  }

  mx::array move(const mx::array& p, const mx::array& g, Params& state, const Pace& pace)
      const override {
    const auto t = static_cast<double>(pace.step);
    const double fresh = std::pow(t, beta2_decay);
    auto mixed = [&](const char* name, const mx::array& now) {
      auto next = state.at(name) * f32(1 - fresh) + now * f32(fresh);
      state.insert_or_assign(name, next);
      return next;
    };
    const auto least = mx::array(std::numeric_limits<float>::epsilon());
    const auto squares = mx::square(g);
    mx::array variance = squares;
    if (p.ndim() < 2) {
      variance = mixed("v", squares);
    } else {
      auto rows = mixed("rows", mx::mean(squares, -1, true));
      auto columns = mixed("columns", mx::mean(squares, -2, true));
      variance = rows * columns / mx::maximum(mx::mean(rows, -2, true), least);
    }
    auto update = mx::rsqrt(mx::maximum(variance, mx::square(least))) * g;
    update = update / mx::maximum(mx::array(1.0f), rms(update) / f32(largest_rms));
    const double rate =
        relative_ ? std::min(pace.learning_rate, 1 / std::sqrt(t)) : pace.learning_rate;
    auto step = f32(rate);
    if (relative_) {
      step = step * mx::maximum(f32(least_scale), rms(p));
    }
    return decayed(p, pace, decay_) - update * step;
  }

 private:
  bool relative_;
  double decay_;
};

}  // namespace

RulePtr adafactor_rule(bool relative, double decay) {
  return std::make_shared<Adafactor>(relative, decay);
}

}  // namespace atelier
