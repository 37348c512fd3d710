#pragma once

#include "train/rules/rule.h"

namespace atelier {

/** A scalar that leaves f32 arrays f32. */
mx::array f32(double x);

/** parameter * (1 - rate * decay) */
mx::array decayed(const mx::array& parameter, const Pace& pace, double decay);

struct Moments {
  mx::array m, v;
};

/** AdamW's arithmetic, however its moments are kept. */
mx::array adamw_move(
    const AdamWConstants& constants,
    double decay,
    const mx::array& parameter,
    const mx::array& gradient,
    Moments& moments,
    const Pace& pace);

}  // namespace atelier
