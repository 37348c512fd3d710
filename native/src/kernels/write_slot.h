#pragma once

#include "kernels/primitive.h"

#include <utility>

namespace atelier {

/**
 * On CUDA: writes k, v [B, K, 1, E] into slot (int32 [1]) of the caches [B, K, S, E], in place, and returns the caches.
 * The arrays given are given up: they share the buffers.
 */
std::pair<mx::array, mx::array> write_slot_gpu(
    const mx::array& k,
    const mx::array& v,
    const mx::array& slot,
    const mx::array& k_cache,
    const mx::array& v_cache);
bool write_slot_fits_gpu(const mx::array& k, const mx::array& k_cache);

}  // namespace atelier
