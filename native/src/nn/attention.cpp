#include "nn/attention.h"

#include "kernels/attend.h"
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

// Slots [0, to) in one part of a layer.
void make_room(const KvCache& cache, mx::array& slots, int to) {
  if (slots.shape(2) < to) {
    mx::Shape shape = slots.shape();
    shape[2] = cache.capacity(to) - shape[2];
    slots = mx::concatenate({slots, mx::zeros(shape, slots.dtype())}, 2);
  }
}

// [B, H, L, E] -> [B, L, H E].
mx::array in_rows(mx::array y) {
  const int B = y.shape(0), H = y.shape(1), L = y.shape(2), E = y.shape(3);
  if (L > 1) {  // one position: the heads lie in order as they are
    y = mx::transpose(y, {0, 2, 1, 3});
  }
  return mx::reshape(y, {B, L, H * E});
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
  const int from = cache.length, to = from + now.shape(2);
  if (!slots) {
    mx::Shape shape = now.shape();
    shape[2] = cache.capacity(to);
    slots = mx::zeros(shape, now.dtype());
  } else {
    make_room(cache, *slots, to);
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
      return in_rows(out.y);
    }
  }
  if (!visible.mask && !visible.on_device && cpu_kernels_for(qkv)) {
    const AttentionSpec spec{visible.start, look.scale, look.window};
    if (!cache) {
      return attend_cpu(qkv, q_norm, k_norm, angles.cos, angles.sin, heads, spec);
    }
    KvCache::Layer& at = cache->layers[layer];
    if (qkv.shape(1) == 1 && at.k) {
      make_room(*cache, *at.k, cache->length + 1);
      make_room(*cache, *at.v, cache->length + 1);
      const DecodedHeads out = decode_attend_cpu(
          qkv, q_norm, k_norm, angles.cos, angles.sin, heads, *at.k, *at.v, cache->length, spec);
      at.k = out.k_cache;
      at.v = out.v_cache;
      return out.y;
    }
  }
  const Heads now = split_heads(qkv, q_norm, k_norm, angles, heads);
  const KeysValues all = cache ? append(*cache, layer, now.k, now.v) : KeysValues{now.k, now.v};
  return in_rows(attention(now.q, all.k, all.v, visible, look.scale, look.window));
}

}  // namespace atelier
