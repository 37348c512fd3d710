#pragma once

#include "core/mlx.h"

namespace atelier {

/** Cosines and signed sines of the rotation angles, f32 [B or 1, 1, L, D]: both halves of a head. */
struct RopeAngles {
  mx::array cos, sin;
};

/** Angles at positions_BL (int32 [B or 1, L]); inv_freq is f32 [D/2]. Products as transformers makes them, f32. */
RopeAngles rope_angles(const mx::array& positions_BL, const mx::array& inv_freq);

}  // namespace atelier
