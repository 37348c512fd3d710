#pragma once

#include "kernels/primitive.h"

#include <optional>

namespace atelier {

/**
 * A product of few rows with what stands before and behind it: y = onto + f(x) Wᵀ + (f(x) Aᵀ) Bᵀ, where f is the RMS
 * norm where there is one; with `gated`, silu(gate) * up of y = gate, up side by side. x [.., I], W [O, I], A [R, I],
 * B [O, R], onto [.., O], of one type. Each part is optional but x Wᵀ; `onto` and `gated` do not come together.
 */
struct ThinProduct {
  mx::array x, w;
  std::optional<mx::array> onto = std::nullopt;
  struct Lora {
    mx::array a, b;
  };
  std::optional<Lora> lora = std::nullopt;
  struct Norm {
    mx::array w;
    float eps;
  };
  std::optional<Norm> norm = std::nullopt;
  bool gated = false;
};

mx::array thin_product_plain(const ThinProduct& product);

/** Up to so many rows a norm in front is made by the kernel itself, and the kernel is there outside recorded steps. */
constexpr int thin_product_rows = 16;

/**
 * The same in one kernel on CUDA, rounded where the twin's products are; no gradient. Up to thin_product_rows its x is
 * taken from in front of an RMS norm that has not been computed yet; more rows, 256 with LoRA and 128 without, where
 * gpu/tile_product.h has room for them.
 */
mx::array thin_product_gpu(ThinProduct product);
bool thin_product_fits_gpu(const ThinProduct& product);
/** Whether thin_product_fits_gpu will say so while a step is recorded (gpu/replay.h). */
bool thin_product_fits_recorded_gpu(const ThinProduct& product);

/** silu(gate) * up of what thin_product_gpu gave, by the same kernel; none where it gave something else. */
std::optional<mx::array> thin_product_gated_gpu(const mx::array& gate_up);

}  // namespace atelier
