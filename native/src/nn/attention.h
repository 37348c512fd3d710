#pragma once

#include "core/mlx.h"
#include "nn/block.h"
#include "nn/kv_cache.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace atelier {

/** Which of S slots the last L queries see. */
struct Visibility {
  /** Boolean or additive, broadcastable to [B, H, L, S]; replaces all else. */
  std::optional<mx::array> mask;
  /** First slot of each row, int32 [B]; empty where all begin at slot 0. Each query sees up to its own slot. */
  std::vector<int32_t> start;
  /** One query a row, keys and values are whole caches: the row's slots from `start_B` to `slot`; replaces `start`. */
  std::optional<DecodeRows> on_device;
};

/**
 * softmax(scale q kᵀ) v; q [B, H, L, D], k and v [B, Hkv, S, D] with Hkv dividing H. With a window above 0 each
 * query sees its own slot and the window - 1 before it at most.
 */
mx::array attention(
    const mx::array& q,
    const mx::array& k,
    const mx::array& v,
    const Visibility& visible,
    double scale,
    int window = 0);

/**
 * Writes `now` [B, h, L, D] into slots [length, length + L) of one part of a layer and returns all slots written so
 * far, [B, h, length + L, D]. The part grows by steps of its capacity; the cache's length is moved on by the caller.
 */
mx::array append(const KvCache& cache, std::optional<mx::array>& slots, const mx::array& now);

struct KeysValues {
  mx::array k, v;
};

/**
 * The same for the keys and values of one layer. Where the cache is `on_device`, L is 1, its capacity suffices, and the
 * whole of it is returned.
 */
KeysValues append(KvCache& cache, int layer, const mx::array& k, const mx::array& v);

/** How a layer's queries look at its keys. */
struct Look {
  double scale;
  int window = 0;
};

/**
 * From the stacked q/k/v product [B, L, (H + 2K) E] to attention's heads [B, L, H E]: split_heads (nn/block.h), append
 * to the layer where there is a cache, attention; in one kernel where there is one.
 */
mx::array attend(
    KvCache* cache,
    int layer,
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const RopeAngles& angles,
    const HeadsSpec& heads,
    const Visibility& visible,
    const Look& look);

}  // namespace atelier
