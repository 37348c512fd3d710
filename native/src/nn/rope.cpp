#include "nn/rope.h"

#include "kernels/from_host.h"

namespace atelier {

RopeAngles rope_angles(const mx::array& positions_BL, const Rope& rope) {
  const mx::array inv_freq = from_host(rope.inv_freq, {static_cast<int>(rope.inv_freq.size())});
  const mx::array angle =
      mx::expand_dims(mx::expand_dims(mx::astype(positions_BL, mx::float32), 2) * inv_freq, 1);
  mx::array cos = mx::cos(angle), sin = mx::sin(angle);
  if (rope.amplitude != 1.0f) {
    cos = cos * mx::array(rope.amplitude);
    sin = sin * mx::array(rope.amplitude);
  }
  return {mx::concatenate({cos, cos}, -1), mx::concatenate({mx::negative(sin), sin}, -1)};
}

}  // namespace atelier
