#include "kernels/adamw.h"

namespace atelier {

AdamWMoved adamw_plain(
    const mx::array& p,
    const mx::array& g,
    const mx::array& m,
    const mx::array& v,
    const AdamWNumbers& n) {
  auto f32 = [](float x) { return mx::array(x); };
  const mx::array m1 = m * f32(n.beta1) + g * f32(n.rest1);
  const mx::array v1 = v * f32(n.beta2) + mx::square(g) * f32(n.rest2);
  const mx::array root = mx::sqrt(v1) * f32(n.root) + f32(n.epsilon);
  const mx::array kept = n.keep == 1 ? p : p * f32(n.keep);
  return {kept - m1 / root * f32(n.rate), m1, v1};
}

}  // namespace atelier
