#include "train/rules/adamw.h"

#include <algorithm>
#include <cmath>

namespace atelier {
namespace {

constexpr int newton_schulz_steps = 5;
constexpr double a = 3.4445, b = -4.7750, c = 2.0315;
constexpr double least_norm = 1e-7;

mx::array transposed(const mx::array& x) {
  return mx::swapaxes(x, -1, -2);
}

// Near U Vᵀ of x = U S Vᵀ: the quintic iteration drives singular values towards 1.
mx::array orthogonal(mx::array x) {
  const bool tall = x.shape(-2) > x.shape(-1);
  if (tall) {
    x = transposed(x);
  }
  auto norm = mx::sqrt(mx::sum(mx::square(x), std::vector<int>{-2, -1}, true));
  x = x / mx::maximum(norm, f32(least_norm));
  for (int k = 0; k < newton_schulz_steps; k++) {
    auto gram = mx::matmul(x, transposed(x));
    x = f32(a) * x + mx::matmul(f32(b) * gram + f32(c) * mx::matmul(gram, gram), x);
  }
  return tall ? transposed(x) : x;
}

class Muon : public Rule {
 public:
  Muon(double momentum, bool match_adamw, double decay)
      : momentum_(momentum), match_adamw_(match_adamw), decay_(decay) {}

  Params start(const mx::Shape& shape) const override {
    return {{"momentum", mx::zeros(shape, mx::float32)}};
  }

  mx::array move(const mx::array& p, const mx::array& g, Params& state, const Pace& pace)
      const override {
    auto momentum = state.at("momentum") * f32(momentum_) + g * f32(1 - momentum_);
    state.insert_or_assign("momentum", momentum);
    auto nesterov = g * f32(1 - momentum_) + momentum * f32(momentum_);
    const double out = p.shape(-2), in = p.shape(-1);
    const double ratio =
        match_adamw_ ? 0.2 * std::sqrt(std::max(out, in)) : std::sqrt(std::max(1.0, out / in));
    return decayed(p, pace, decay_) - orthogonal(nesterov) * f32(pace.learning_rate * ratio);
  }

 private:
  double momentum_;
  bool match_adamw_;
  double decay_;
};

}  // namespace

RulePtr muon_rule(double momentum, bool match_adamw, double decay) {
  return std::make_shared<Muon>(momentum, match_adamw, decay);
}

}  // namespace atelier
