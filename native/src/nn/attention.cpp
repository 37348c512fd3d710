#include "nn/attention.h"

#include "kernels/attention.h"
#include "kernels/write_slot.h"

#include <limits>

namespace atelier {
namespace {

// A mask (boolean or additive) without what lies before each query's window; queries stand in the last L of S slots.
mx::array windowed(const mx::array& mask, int L, int S, int window) {
  const mx::array query = mx::expand_dims(mx::arange(S - L, S, mx::int32), 1);
  const mx::array near = mx::greater(mx::arange(S, mx::int32), query - mx::array(window));
  return mask.dtype() == mx::bool_
             ? mx::logical_and(mask, near)
             : mx::where(
                   near, mask, mx::array(-std::numeric_limits<float>::infinity(), mask.dtype()));
}

KeysValues append_on_device(KvCache& cache, int layer, const mx::array& k, const mx::array& v) {
  KvCache::Layer& at = cache.layers[layer];
  const mx::array& slot = cache.on_device->slot;
  if (write_slot_fits_gpu(k, *at.k)) {
    std::tie(at.k, at.v) = write_slot_gpu(k, v, slot, *at.k, *at.v);
  } else {
    at.k = mx::slice_update(*at.k, k, slot, {2});
    at.v = mx::slice_update(*at.v, v, slot, {2});
  }
  return {*at.k, *at.v};
}

}  // namespace

mx::array attention(
    const mx::array& q,
    const mx::array& k,
    const mx::array& v,
    const Visibility& visible,
    double scale,
    int window) {
  const int L = q.shape(2), S = k.shape(2);
  if (visible.mask) {
    const bool cut = window > 0 && window < S;
    return mx::fast::scaled_dot_product_attention(
        q,
        k,
        v,
        static_cast<float>(scale),
        "array",
        cut ? windowed(*visible.mask, L, S, window) : *visible.mask);
  }
  const AttentionSpec spec{visible.start, scale, window};
  if (visible.on_device) {
    const auto decode =
        decode_attention_fits_gpu(q, k) ? decode_attention_gpu : decode_attention_plain;
    return decode(q, k, v, *visible.on_device, spec);
  }
  if (!cpu_kernels_for(q)) {
    return attention_plain(q, k, v, spec);
  }
  const bool decode = L == 1 && !q.is_tracer();
  return (decode ? decode_attention_cpu : attention_cpu)(q, k, v, spec);
}

mx::array append(const KvCache& cache, std::optional<mx::array>& slots, const mx::array& now) {
  const int from = cache.length, to = from + now.shape(2), capacity = cache.capacity(to);
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
}

KeysValues append(KvCache& cache, int layer, const mx::array& k, const mx::array& v) {
  if (cache.on_device) {
    return append_on_device(cache, layer, k, v);
  }
  KvCache::Layer& at = cache.layers[layer];
  mx::array keys = append(cache, at.k, k);
  return {keys, append(cache, at.v, v)};
}

mx::array attend(
    KvCache* cache,
    int layer,
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const RopeAngles& angles,
    const HeadsSpec& heads,
    const Visibility& visible,
    const Look& look) {
  if (cache && cache->on_device && !visible.mask) {
    KvCache::Layer& at = cache->layers[layer];
    if (decode_heads_fits_gpu(qkv, q_norm, angles.cos, heads, *at.k)) {
      const DecodedHeads out = decode_heads_gpu(
          qkv,
          q_norm,
          k_norm,
          angles.cos,
          angles.sin,
          heads,
          *at.k,
          *at.v,
          *cache->on_device,
          {{}, look.scale, look.window});
      at.k = out.k_cache;
      at.v = out.v_cache;
      return out.y;
    }
  }
  const Heads now = split_heads(qkv, q_norm, k_norm, angles, heads);
  const KeysValues all = cache ? append(*cache, layer, now.k, now.v) : KeysValues{now.k, now.v};
  return attention(now.q, all.k, all.v, visible, look.scale, look.window);
}

}  // namespace atelier
