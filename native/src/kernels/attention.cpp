// Shapes: B batch, L queries, S slots, H query heads, K key heads, G = H / K, E head.
#include "kernels/attention.h"

#include "kernels/attention_group.h"
#include "kernels/parallel.h"

#include <cmath>

namespace atelier {
namespace {

struct Sizes {
  int B, K, G, L, S, E;

  Sizes(const mx::array& q, const mx::array& k)
      : B(q.shape(0)),
        K(k.shape(1)),
        G(q.shape(1) / k.shape(1)),
        L(q.shape(2)),
        S(k.shape(2)),
        E(q.shape(3)) {}

  AttentionGroup group(int b, const AttentionSpec& spec) const {
    return {G, L, S, E, spec.start.empty() ? 0 : spec.start[b], spec.window, spec.scale};
  }
  // Calls f(b, offset of the key head's queries, of its weights, of its keys).
  template <class F>
  void each(F&& f) const {
    const int64_t cost = int64_t{G} * L * S * E;
    const int grain = static_cast<int>(std::max<int64_t>(1, 500'000 / std::max<int64_t>(1, cost)));
    parallel_for(B * K, grain, [&](int from, int to) {
      for (int64_t n = from; n < to; n++) {
        f(static_cast<int>(n / K), n * G * L * E, n * G * L * S, n * S * E);
      }
    });
  }
};

Arrays backward(
    const Arrays& in,
    const mx::array& weights,
    const mx::array& g,
    const AttentionSpec& spec) {
  CpuKernel kernel{"AttentionCpuVjp", nullptr, nullptr};
  kernel.run = [spec](const Arrays& in, Arrays& out) {
    const Sizes z(in[0], in[1]);
    const float *q = in[0].data<float>(), *k = in[1].data<float>(), *v = in[2].data<float>();
    const float *p = in[3].data<float>(), *g = in[4].data<float>();
    float *dq = out[0].data<float>(), *dk = out[1].data<float>(), *dv = out[2].data<float>();
    z.each([&](int b, int64_t query, int64_t weight, int64_t key) {
      attend_group_vjp(
          z.group(b, spec),
          q + query,
          k + key,
          rows_of(v + key, z.E),
          p + weight,
          {g + query, int64_t{z.L} * z.E, z.E},
          dq + query,
          dk + key,
          dv + key,
          z.E);
    });
  };
  return apply(
      kernel, {in[0], in[1], in[2], weights, g}, {in[0].shape(), in[1].shape(), in[2].shape()});
}

}  // namespace

mx::array attention_plain(
    const mx::array& q,
    const mx::array& k,
    const mx::array& v,
    const AttentionSpec& spec) {
  const int L = q.shape(2), S = k.shape(2);
  const auto scale = static_cast<float>(spec.scale);
  const bool windowed = spec.window > 0 && spec.window < S;
  if (spec.start.empty() && !windowed) {
    return mx::fast::scaled_dot_product_attention(q, k, v, scale, L > 1 ? "causal" : "");
  }
  const mx::array slot = mx::arange(S, mx::int32);
  const mx::array query = mx::expand_dims(mx::arange(S - L, S, mx::int32), 1);
  mx::array seen = mx::less_equal(slot, query);
  if (windowed) {
    seen = mx::logical_and(seen, mx::greater(slot, query - mx::array(spec.window)));
  }
  seen = mx::reshape(seen, {1, 1, L, S});
  if (!spec.start.empty()) {
    const int B = static_cast<int>(spec.start.size());
    const mx::array begun =
        mx::greater_equal(slot, mx::array(spec.start.begin(), {B, 1, 1, 1}, mx::int32));
    seen = mx::logical_or(mx::logical_and(seen, begun), mx::equal(slot, query));
  }
  return mx::fast::scaled_dot_product_attention(q, k, v, scale, "array", seen);
}

mx::array decode_attention_plain(
    const mx::array& q,
    const mx::array& k_cache,
    const mx::array& v_cache,
    const DecodeRows& rows,
    const AttentionSpec& spec) {
  const mx::array at = mx::arange(k_cache.shape(2), mx::int32);
  mx::array seen = mx::less_equal(at, rows.slot);
  if (spec.window > 0) {
    seen = mx::logical_and(seen, mx::greater(at, rows.slot - mx::array(spec.window)));
  }
  seen = mx::logical_and(seen, mx::greater_equal(at, mx::reshape(rows.start_B, {-1, 1, 1, 1})));
  return mx::fast::scaled_dot_product_attention(
      q, k_cache, v_cache, static_cast<float>(spec.scale), "array", seen);
}

mx::array attention_cpu(
    const mx::array& q,
    const mx::array& k,
    const mx::array& v,
    const AttentionSpec& spec) {
  CpuKernel kernel{"AttentionCpu", nullptr, nullptr};
  kernel.run = [spec](const Arrays& in, Arrays& out) {
    const Sizes z(in[0], in[1]);
    const float *q = in[0].data<float>(), *k = in[1].data<float>(), *v = in[2].data<float>();
    float *y = out[0].data<float>(), *p = out[1].data<float>();
    z.each([&](int b, int64_t query, int64_t weight, int64_t key) {
      attend_group(
          z.group(b, spec),
          q + query,
          k + key,
          rows_of(v + key, z.E),
          p + weight,
          {y + query, int64_t{z.L} * z.E, z.E});
    });
  };
  // The weights are the second output, for the backward alone: nothing else may read them.
  kernel.vjp =
      [spec](
          const Arrays& in, const Arrays& cotangents, const Arrays& out, const std::vector<int>&) {
        return backward(in, out[1], mx::contiguous(cotangents[0]), spec);
      };
  const mx::Shape weights{q.shape(0), q.shape(1), q.shape(2), k.shape(2)};
  return apply(
      kernel, {mx::contiguous(q), mx::contiguous(k), mx::contiguous(v)}, {q.shape(), weights})[0];
}

}  // namespace atelier
