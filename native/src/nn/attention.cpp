#include "nn/attention.h"

#include "kernels/attention.h"

#include <cmath>

namespace atelier {
mx::array
attention(const mx::array& q, const mx::array& k, const mx::array& v, const Visibility& visible) {
  if (visible.mask) {
    const float scale = 1.0f / std::sqrt(static_cast<float>(q.shape(3)));
    return mx::fast::scaled_dot_product_attention(q, k, v, scale, "array", *visible.mask);
  }
  if (!cpu_kernels_for(q)) {
    return attention_plain(q, k, v, visible.start);
  }
  const bool decode = q.shape(2) == 1 && !q.is_tracer();
  return (decode ? decode_attention_cpu : attention_cpu)(q, k, v, visible.start);
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

}  // namespace atelier
