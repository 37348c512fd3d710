#include "train/rules/adamw.h"
#include "train/rules/dynamic_map.h"

namespace atelier {
namespace {

// bitsandbytes' min_8bit_size
constexpr int64_t least_size = 4096;

class AdamW8bit : public Rule {
 public:
  AdamW8bit(const AdamWConstants& constants, double decay)
      : constants_(constants), decay_(decay), exact_(adamw_rule(constants, decay)) {}

  Params start(const mx::Shape& shape) const override {
    int64_t size = 1;
    for (const int n : shape) {
      size *= n;
    }
    if (size < least_size) {
      return exact_->start(shape);
    }
    Params state;
    keep(state, {mx::zeros(shape, mx::float32), mx::zeros(shape, mx::float32)});
    return state;
  }

  mx::array move(const mx::array& p, const mx::array& g, Params& state, const Pace& pace)
      const override {
    if (state.count("m")) {
      return exact_->move(p, g, state, pace);
    }
    Moments moments{
        from_blocks({state.at("m.codes"), state.at("m.scales")}, true, p.shape()),
        from_blocks({state.at("v.codes"), state.at("v.scales")}, false, p.shape())};
    auto moved = adamw_move(constants_, decay_, p, g, moments, pace);
    keep(state, moments);
    return moved;
  }

 private:
  static void keep(Params& state, const Moments& moments) {
    auto m = to_blocks(moments.m, true), v = to_blocks(moments.v, false);
    state.insert_or_assign("m.codes", m.codes);
    state.insert_or_assign("m.scales", m.scales);
    state.insert_or_assign("v.codes", v.codes);
    state.insert_or_assign("v.scales", v.scales);
  }

  AdamWConstants constants_;
  double decay_;
  RulePtr exact_;
};

}  // namespace

RulePtr adamw_8bit_rule(const AdamWConstants& constants, double decay) {
  return std::make_shared<AdamW8bit>(constants, decay);
}

}  // namespace atelier
