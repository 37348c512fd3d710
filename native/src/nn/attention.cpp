// Shapes: B batch, L queries, S slots, H query heads, K key heads, D head.
#include "nn/attention.h"

#include "kernels/decode_attention.h"
#include "kernels/softmax.h"

#include <cmath>

namespace atelier {
namespace {

// What `start` and order say, as a boolean mask [B, 1, L, S]; a padding query sees itself, so that its softmax
// is not empty.
mx::array start_mask(const std::vector<int32_t>& start, int L, int S) {
  const mx::array slot = mx::arange(S, mx::int32);
  const mx::array begun =
      mx::greater_equal(slot, mx::array(start.begin(), {static_cast<int>(start.size()), 1, 1, 1}, mx::int32));
  if (L == 1) {
    return begun;
  }
  const mx::array query = mx::expand_dims(mx::arange(S - L, S, mx::int32), 1);
  return mx::logical_or(mx::logical_and(mx::less_equal(slot, query), begun), mx::equal(slot, query));
}

mx::array cpu_attention(const mx::array& q, const mx::array& k, const mx::array& v, const std::vector<int32_t>& start) {
  const int B = q.shape(0), H = q.shape(1), L = q.shape(2), D = q.shape(3), K = k.shape(1), S = k.shape(2);
  if (L == 1 && !q.is_tracer()) {
    return decode_attention_cpu(q, k, v, start);
  }
  // Queries that share a key head stand one under another in its product.
  const mx::array scores = mx::matmul(mx::reshape(q, {B, K, H / K * L, D}), mx::swapaxes(k, 2, 3));
  const mx::array p =
      causal_softmax_cpu(mx::reshape(scores, {B, H, L, S}), 1.0f / std::sqrt(static_cast<float>(D)), start);
  return mx::reshape(mx::matmul(mx::reshape(p, {B, K, H / K * L, S}), v), {B, H, L, D});
}

} // namespace

mx::array attention(const mx::array& q, const mx::array& k, const mx::array& v, const Visibility& visible) {
  if (!visible.mask && cpu_kernels_for(q)) {
    return cpu_attention(q, k, v, visible.start);
  }
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.shape(3)));
  std::optional<mx::array> mask = visible.mask;
  if (!mask && !visible.start.empty()) {
    mask = start_mask(visible.start, q.shape(2), k.shape(2));
  }
  if (mask) {
    return mx::fast::scaled_dot_product_attention(q, k, v, scale, "array", *mask);
  }
  return mx::fast::scaled_dot_product_attention(q, k, v, scale, q.shape(2) > 1 ? "causal" : "");
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

} // namespace atelier
