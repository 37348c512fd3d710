#include "nn/attention.h"

#include <cmath>

namespace atelier {

mx::array attention(const mx::array& q, const mx::array& k, const mx::array& v, const Visibility& visible) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.shape(3)));
  if (visible.mask) {
    return mx::fast::scaled_dot_product_attention(q, k, v, scale, "array", *visible.mask);
  }
  return mx::fast::scaled_dot_product_attention(q, k, v, scale, visible.causal ? "causal" : "");
}

KeysValues append(KvCache& cache, int layer, const mx::array& k, const mx::array& v) {
  const int from = cache.length, to = from + k.shape(2);
  KvCache::Layer& at = cache.layers[layer];
  auto write = [&](std::optional<mx::array>& slots, const mx::array& now) {
    const int capacity = cache_capacity(to);
    mx::Shape shape = now.shape();
    if (!slots) {
      shape[2] = capacity;
      slots = mx::zeros(shape, now.dtype());
    } else if (slots->shape(2) < to) {
      shape[2] = capacity - slots->shape(2);
      slots = mx::concatenate({*slots, mx::zeros(shape, now.dtype())}, 2);
    }
    // The old array is dropped before evaluation, so MLX writes in place.
    mx::Shape stop = slots->shape();
    stop[2] = to;
    slots = mx::slice_update(*slots, now, {0, 0, from, 0}, stop);
    return mx::slice(*slots, {0, 0, 0, 0}, stop);
  };
  mx::array keys = write(at.k, k);
  return {keys, write(at.v, v)};
}

Visibility visibility(const KvCache& cache, int L) {
  if (!cache.ragged()) {
    return {std::nullopt, L > 1};
  }
  const int S = cache.length + L;
  const mx::array slot = mx::arange(S, mx::int32);
  const mx::array begun = mx::greater_equal(slot, mx::expand_dims(cache.start_B1(), {2, 3})); // [B, 1, 1, S]
  if (L == 1) {
    return {begun, false};
  }
  const mx::array query = mx::expand_dims(mx::arange(cache.length, S, mx::int32), 1); // [L, 1]
  // A padding query sees itself, so that its softmax is not empty.
  return {
      mx::logical_or(mx::logical_and(mx::less_equal(slot, query), begun), mx::equal(slot, query)),
      false};
}

} // namespace atelier
