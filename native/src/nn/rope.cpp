#include "nn/rope.h"

namespace atelier {

RopeAngles rope_angles(const mx::array& positions_BL, const mx::array& inv_freq) {
  const mx::array angle =
      mx::expand_dims(mx::expand_dims(mx::astype(positions_BL, mx::float32), 2) * inv_freq, 1);
  const mx::array cos = mx::cos(angle), sin = mx::sin(angle);
  return {mx::concatenate({cos, cos}, -1), mx::concatenate({mx::negative(sin), sin}, -1)};
}

mx::array rope(const mx::array& x_BHLD, const RopeAngles& angles) {
  const std::vector<mx::array> half = mx::split(x_BHLD, 2, -1);
  const mx::array swapped = mx::concatenate({half[1], half[0]}, -1);
  return mx::astype(x_BHLD * angles.cos + swapped * angles.sin, x_BHLD.dtype());
}

} // namespace atelier
