#include "nn/rope.h"

namespace atelier {

RopeAngles rope_angles(const mx::array& positions_BL, const mx::array& inv_freq) {
  const mx::array angle =
      mx::expand_dims(mx::expand_dims(mx::astype(positions_BL, mx::float32), 2) * inv_freq, 1);
  const mx::array cos = mx::cos(angle), sin = mx::sin(angle);
  return {mx::concatenate({cos, cos}, -1), mx::concatenate({mx::negative(sin), sin}, -1)};
}

}  // namespace atelier
