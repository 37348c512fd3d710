#pragma once

#include "core/mlx.h"

#include <vector>

namespace atelier {

/** Cosines and signed sines of the rotation angles, f32 [B or 1, 1, L, D]: both halves of a head. */
struct RopeAngles {
  mx::array cos, sin;
};

/** What one kind of layer rotates by. */
struct Rope {
  /** Angle a position moves on by, [D/2]; all 0: no rotation. */
  std::vector<float> inv_freq;
  /** Cosines and sines are multiplied by it (YaRN). */
  float amplitude = 1.0f;
};

/** Angles at positions_BL (int32 [B or 1, L]). Products as transformers makes them, f32. */
RopeAngles rope_angles(const mx::array& positions_BL, const Rope& rope);

}  // namespace atelier
