#pragma once

#include "core/mlx.h"

#include <optional>
#include <vector>

namespace atelier {

/** Cosines and signed sines of the rotation angles, f32 [B or 1, 1, L, D]: both halves of a head. */
struct RopeAngles {
  mx::array cos, sin;
};

/** Angles at positions_BL (int32 [B or 1, L]); inv_freq is f32 [D/2]. Products as transformers makes them, f32. */
RopeAngles rope_angles(const mx::array& positions_BL, const mx::array& inv_freq);

/** Rotates x [B, H, L, D] in halves (GPT-NeoX's pairing: i with i + D/2), in f32; x's type is kept. */
mx::array rope(const mx::array& x_BHLD, const RopeAngles& angles);

} // namespace atelier
