#pragma once

#include "core/mlx.h"
#include "nn/kv_cache.h"

#include <optional>

namespace atelier {

/** Which keys a query sees. */
struct Visibility {
  /** Boolean or additive, broadcastable to [B, H, L, S]. */
  std::optional<mx::array> mask;
  /** The last L of S keys, each query up to its own; not together with a mask. */
  bool causal;
};

/** softmax(q kᵀ / sqrt(D)) v; q [B, H, L, D], k and v [B, Hkv, S, D] with Hkv dividing H. */
mx::array attention(const mx::array& q, const mx::array& k, const mx::array& v, const Visibility& visible);

/**
 * Writes k, v [B, Hkv, L, D] into slots [length, length + L) of one layer and returns all slots written so
 * far, [B, Hkv, length + L, D]. The cache grows by steps of its capacity; its length is moved on by the caller.
 */
struct KeysValues {
  mx::array k, v;
};
KeysValues append(KvCache& cache, int layer, const mx::array& k, const mx::array& v);

/** What queries in slots [length, length + L) see: their row's slots up to their own. */
Visibility visibility(const KvCache& cache, int L);

} // namespace atelier
