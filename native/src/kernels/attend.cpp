// Shapes: B batch, L length, H query heads, K key heads, G = H / K, E head, R of it rotated.
#include "kernels/attend.h"

#include "kernels/attention_group.h"
#include "kernels/parallel.h"
#include "kernels/processor.h"

#include <vector>

#define ATELIER_LOOPS "kernels/loops/attend.h"
#include "kernels/loops/processors.h"

namespace atelier {
namespace {

// Numbers of a product's rows, and where heads lie in them.
struct Places {
  int B, L, H, K, E, R;
  int64_t angle_row;

  Places(const mx::array& qkv, const mx::array& cos, const HeadsSpec& s)
      : B(qkv.shape(0)),
        L(qkv.shape(1)),
        H(s.heads),
        K(s.kv_heads),
        E(s.head_dim),
        R(cos.shape(3)),
        angle_row(cos.shape(0) == 1 ? 0 : int64_t{qkv.shape(1)} * cos.shape(3)) {}

  int G() const {
    return H / K;
  }
  int64_t width() const {
    return int64_t{H + 2 * K} * E;
  }
  /** Of head h of position l: those of the keys stand behind those of the queries, then those of the values. */
  int64_t at(int b, int l, int h) const {
    return (int64_t{b} * L + l) * width() + int64_t{h} * E;
  }
  int64_t angle(int b, int l) const {
    return b * angle_row + int64_t{l} * R;
  }
};

struct Angles {
  const float *cos, *sin;
};

/** q [G L, E] and k [L, E] of a key head, normalised and rotated. */
void split(
    const Places& z,
    const float* qkv,
    Angles angles,
    const float* const norm[2],
    float eps,
    int b,
    int key,
    float* q,
    float* k) {
  const auto head = ATELIER_LOOP(forward_head);
  for (int l = 0; l < z.L; l++) {
    const float *c = angles.cos + z.angle(b, l), *s = angles.sin + z.angle(b, l);
    for (int g = 0; g < z.G(); g++) {
      const float* from = qkv + z.at(b, l, key * z.G() + g);
      head(from, norm[0], c, s, q + (int64_t{g} * z.L + l) * z.E, z.E, z.R, eps);
    }
    head(qkv + z.at(b, l, z.H + key), norm[1], c, s, k + int64_t{l} * z.E, z.E, z.R, eps);
  }
}

AttentionGroup group_of(const Places& z, const AttentionSpec& spec, int b) {
  return {z.G(), z.L, z.L, z.E, spec.start.empty() ? 0 : spec.start[b], spec.window, spec.scale};
}

template <class F>
void each_key_head(const Places& z, F&& body) {
  const int64_t cost = std::max<int64_t>(1, int64_t{z.G()} * z.L * z.L * z.E);
  parallel_for(
      z.B * z.K, static_cast<int>(std::max<int64_t>(1, 500'000 / cost)), [&](int from, int to) {
        for (int n = from; n < to; n++) {
          body(n / z.K, n % z.K);
        }
      });
}

struct Norms {
  const float* of[2] = {nullptr, nullptr};

  // Two of `in` from `at` on, where there are so many.
  Norms(const Arrays& in, size_t at) {
    if (in.size() > at) {
      of[0] = in[at].data<float>();
      of[1] = in[at + 1].data<float>();
    }
  }
};

// in: g, qkv, cos, sin, p, and norms; out: the gradient by qkv, and by the norms where they are wanted.
void backward(
    const HeadsSpec& heads,
    const AttentionSpec& spec,
    bool weights,
    const Arrays& in,
    Arrays& out) {
  const Places z(in[1], in[2], heads);
  const float *g = in[0].data<float>(), *qkv = in[1].data<float>(), *p = in[4].data<float>();
  const Angles angles{in[2].data<float>(), in[3].data<float>()};
  const Norms norm(in, 5);
  float* dqkv = out[0].data<float>();
  // For each key head, the gradients of both norms side by side.
  std::vector<float> parts(weights ? size_t(z.B) * z.K * 2 * z.E : 0);
  const auto through = ATELIER_LOOP(backward_head);
  each_key_head(z, [&](int b, int key) {
    thread_local std::vector<float> room;
    const size_t of_q = size_t(z.G()) * z.L * z.E, of_k = size_t(z.L) * z.E;
    room.resize(2 * (of_q + of_k));
    float *q = room.data(), *k = q + of_q, *dq = k + of_k, *dk = dq + of_q;
    split(z, qkv, angles, norm.of, heads.eps, b, key, q, k);
    const int64_t first = int64_t{b} * z.H + key * z.G();
    attend_group_vjp(
        group_of(z, spec, b),
        q,
        k,
        rows_of(qkv + z.at(b, 0, z.H + z.K + key), z.width()),
        p + first * z.L * z.L,
        {g + (int64_t{b} * z.L * z.H + key * z.G()) * z.E, z.E, int64_t{z.H} * z.E},
        dq,
        dk,
        dqkv + z.at(b, 0, z.H + z.K + key),
        z.width());
    float* dw = weights ? parts.data() + (size_t(b) * z.K + key) * 2 * z.E : nullptr;
    for (int l = 0; l < z.L; l++) {
      const float *c = angles.cos + z.angle(b, l), *s = angles.sin + z.angle(b, l);
      const auto back = [&](int h, const float* w, const float* d, float* to_w) {
        through(qkv + z.at(b, l, h), w, c, s, d, dqkv + z.at(b, l, h), to_w, z.E, z.R, heads.eps);
      };
      for (int i = 0; i < z.G(); i++) {
        back(key * z.G() + i, norm.of[0], dq + (int64_t{i} * z.L + l) * z.E, dw);
      }
      back(z.H + key, norm.of[1], dk + int64_t{l} * z.E, dw ? dw + z.E : nullptr);
    }
  });
  for (size_t w = 1; w < out.size(); w++) {
    std::fill(out[w].data<float>(), out[w].data<float>() + z.E, 0.0f);
  }
  for (size_t i = 0; i < parts.size(); i++) {
    out[1 + i / z.E % 2].data<float>()[i % z.E] += parts[i];
  }
}

Arrays with_norms(
    Arrays in,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm) {
  if (q_norm) {
    in.insert(in.end(), {mx::contiguous(*q_norm), mx::contiguous(*k_norm)});
  }
  return in;
}

}  // namespace

mx::array attend_plain(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const mx::array& cos,
    const mx::array& sin,
    const HeadsSpec& heads,
    const AttentionSpec& spec) {
  const Heads h = split_heads_plain(qkv, q_norm, k_norm, cos, sin, heads);
  const mx::array y = mx::transpose(attention_plain(h.q, h.k, h.v, spec), {0, 2, 1, 3});
  return mx::reshape(y, {qkv.shape(0), qkv.shape(1), heads.heads * heads.head_dim});
}

mx::array attend_cpu(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const mx::array& cos,
    const mx::array& sin,
    const HeadsSpec& heads,
    const AttentionSpec& spec) {
  CpuKernel kernel{"AttendCpu", nullptr, nullptr};
  kernel.run = [heads, spec](const Arrays& in, Arrays& out) {
    const Places z(in[0], in[1], heads);
    const float* qkv = in[0].data<float>();
    const Angles angles{in[1].data<float>(), in[2].data<float>()};
    const Norms norm(in, 3);
    float *y = out[0].data<float>(), *p = out[1].data<float>();
    each_key_head(z, [&](int b, int key) {
      thread_local std::vector<float> room;
      const size_t of_q = size_t(z.G()) * z.L * z.E;
      room.resize(of_q + size_t(z.L) * z.E);
      float *q = room.data(), *k = q + of_q;
      split(z, qkv, angles, norm.of, heads.eps, b, key, q, k);
      const int64_t first = int64_t{b} * z.H + key * z.G();
      attend_group(
          group_of(z, spec, b),
          q,
          k,
          rows_of(qkv + z.at(b, 0, z.H + z.K + key), z.width()),
          p + first * z.L * z.L,
          {y + (int64_t{b} * z.L * z.H + key * z.G()) * z.E, z.E, int64_t{z.H} * z.E});
    });
  };
  kernel.vjp =
      [heads, spec](
          const Arrays& in, const Arrays& g, const Arrays& out, const std::vector<int>& wanted) {
        const bool normed = in.size() > 3;
        const bool weights =
            normed && std::any_of(wanted.begin(), wanted.end(), [](int i) { return i >= 3; });
        CpuKernel grad{"AttendCpuVjp", nullptr, nullptr};
        grad.run = [heads, spec, weights](const Arrays& in, Arrays& out) {
          backward(heads, spec, weights, in, out);
        };
        Arrays inputs{mx::contiguous(g[0]), in[0], in[1], in[2], out[1]};
        inputs.insert(inputs.end(), in.begin() + 3, in.end());
        std::vector<mx::Shape> shapes{in[0].shape()};
        if (normed) {
          shapes.insert(shapes.end(), {in[3].shape(), in[4].shape()});
        }
        const Arrays d = apply(grad, inputs, shapes);
        // The angles have no gradient.
        Arrays all{d[0], in[1], in[2]};
        all.insert(all.end(), d.begin() + 1, d.end());
        return all;
      };
  const int B = qkv.shape(0), L = qkv.shape(1);
  // The weights are the second output, for the backward alone: nothing else may read them.
  return apply(
      kernel,
      with_norms({mx::contiguous(qkv), mx::contiguous(cos), mx::contiguous(sin)}, q_norm, k_norm),
      {{B, L, heads.heads * heads.head_dim}, {B, heads.heads, L, L}})[0];
}

DecodedHeads decode_attend_cpu(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const mx::array& cos,
    const mx::array& sin,
    const HeadsSpec& heads,
    const mx::array& k_cache,
    const mx::array& v_cache,
    int slot,
    const AttentionSpec& spec) {
  CpuKernel kernel{"DecodeAttendCpu", nullptr, nullptr};
  kernel.shares = {-1, 3, 4};
  kernel.run = [heads, spec, slot](const Arrays& in, Arrays& out) {
    const Places z(in[0], in[1], heads);
    const float* qkv = in[0].data<float>();
    const Angles angles{in[1].data<float>(), in[2].data<float>()};
    const Norms norm(in, 5);
    float *y = out[0].data<float>(), *keys = out[1].data<float>(), *values = out[2].data<float>();
    const int64_t capacity = out[1].shape(2);
    const int S = slot + 1, seen = spec.window > 0 ? std::max(0, S - spec.window) : 0;
    const int grain = std::max(1, 16384 / (S * z.E * z.G()));
    const auto look = ATELIER_LOOP(attend);
    parallel_for(z.B * z.K, grain, [&](int from, int to) {
      thread_local std::vector<float> room;
      room.resize(size_t(z.G()) * z.E + S + most_lanes);
      float *q = room.data(), *scores = q + z.G() * z.E;
      for (int n = from; n < to; n++) {
        const int b = n / z.K, key = n % z.K;
        float *k = keys + n * capacity * z.E, *v = values + n * capacity * z.E;
        split(z, qkv, angles, norm.of, heads.eps, b, key, q, k + int64_t{slot} * z.E);
        const float* value = qkv + z.at(b, 0, z.H + z.K + key);
        std::copy(value, value + z.E, v + int64_t{slot} * z.E);
        for (int g = 0; g < z.G(); g++) {
          look(
              q + int64_t{g} * z.E,
              k,
              v,
              z.E,
              z.E,
              spec.start.empty() ? seen : std::clamp(int{spec.start[b]}, seen, S - 1),
              S,
              z.E,
              static_cast<float>(spec.scale),
              scores,
              y + (int64_t{b} * z.H + key * z.G() + g) * z.E);
        }
      }
    });
  };
  const Arrays out = apply(
      kernel,
      with_norms(
          {mx::contiguous(qkv),
           mx::contiguous(cos),
           mx::contiguous(sin),
           mx::contiguous(k_cache),
           mx::contiguous(v_cache)},
          q_norm,
          k_norm),
      {{qkv.shape(0), 1, heads.heads * heads.head_dim}, k_cache.shape(), v_cache.shape()});
  return {out[0], out[1], out[2]};
}

}  // namespace atelier
