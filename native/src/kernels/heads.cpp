// Shapes: B batch, L length, H query heads, K key heads, E head, R of it rotated.
#include "kernels/heads.h"

#include "kernels/parallel.h"

#include <algorithm>
#include <cmath>

#define ATELIER_LOOPS "kernels/loops/heads.h"
#include "kernels/loops/processors.h"

namespace atelier {
namespace {

struct Sizes {
  int B, L, H, K, E, R;
  /** Of the angles' batch: 0 where all rows share them. */
  int64_t angle_row;

  Sizes(const mx::array& qkv, const mx::array& cos, const HeadsSpec& s)
      : B(qkv.shape(0)),
        L(qkv.shape(1)),
        H(s.heads),
        K(s.kv_heads),
        E(s.head_dim),
        R(cos.shape(3)),
        angle_row(cos.shape(0) == 1 ? 0 : int64_t{qkv.shape(1)} * cos.shape(3)) {}

  int grain() const {
    return std::max(1, 16384 / ((H + 2 * K) * E));
  }
  // Calls f(offset in qkv, part 0 q / 1 k / 2 v, offset in that part, offset in the angles) for the heads of
  // positions [from, to) of B * L.
  template <class F>
  void each(int from, int to, F&& f) const {
    for (int n = from; n < to; n++) {
      const int b = n / L, l = n % L;
      const int64_t angle = b * angle_row + int64_t{l} * R;
      for (int h = 0; h < H + 2 * K; h++) {
        const int part = h < H ? 0 : h < H + K ? 1 : 2;
        const int count = part == 0 ? H : K, index = part == 0 ? h : part == 1 ? h - H : h - H - K;
        f((int64_t{n} * (H + 2 * K) + h) * E,
          part,
          ((int64_t{b} * count + index) * L + l) * E,
          angle);
      }
    }
  }
};

}  // namespace

Heads split_heads_plain(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const mx::array& cos,
    const mx::array& sin,
    const HeadsSpec& spec) {
  const int H = spec.heads, K = spec.kv_heads;
  const mx::array heads = mx::reshape(qkv, {qkv.shape(0), qkv.shape(1), H + 2 * K, spec.head_dim});
  const std::vector<mx::array> part = mx::split(heads, mx::Shape{H, H + K}, 2);
  auto heads_first = [](const mx::array& a) { return mx::transpose(a, {0, 2, 1, 3}); };
  auto rotated = [&](const mx::array& a, const std::optional<mx::array>& norm) {
    const mx::array x = heads_first(norm ? mx::fast::rms_norm(a, *norm, spec.eps) : a);
    const bool all = cos.shape(3) == x.shape(3);
    const std::vector<mx::array> piece =
        all ? std::vector{x} : mx::split(x, mx::Shape{cos.shape(3)}, -1);
    const std::vector<mx::array> half = mx::split(piece[0], 2, -1);
    const mx::array turned = piece[0] * cos + mx::concatenate({half[1], half[0]}, -1) * sin;
    return mx::astype(all ? turned : mx::concatenate({turned, piece[1]}, -1), qkv.dtype());
  };
  return {rotated(part[0], q_norm), rotated(part[1], k_norm), heads_first(part[2])};
}

Heads split_heads_cpu(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const mx::array& cos,
    const mx::array& sin,
    const HeadsSpec& spec) {
  const bool normed = q_norm.has_value();
  CpuKernel kernel{"SplitHeadsCpu", nullptr, nullptr};
  kernel.run = [spec, normed](const Arrays& in, Arrays& out) {
    const Sizes z(in[0], in[1], spec);
    const float *x = in[0].data<float>(), *c = in[1].data<float>(), *s = in[2].data<float>();
    const float* norm[2] = {
        normed ? in[3].data<float>() : nullptr, normed ? in[4].data<float>() : nullptr};
    float* to[3] = {out[0].data<float>(), out[1].data<float>(), out[2].data<float>()};
    parallel_for(z.B * z.L, z.grain(), [&](int from, int until) {
      z.each(from, until, [&](int64_t at, int part, int64_t head, int64_t angle) {
        if (part == 2) {
          std::copy(x + at, x + at + z.E, to[2] + head);
        } else {
          ATELIER_LOOP(forward_head)(
              x + at, norm[part], c + angle, s + angle, to[part] + head, z.E, z.R, spec.eps);
        }
      });
    });
  };
  kernel.vjp =
      [spec, normed](
          const Arrays& in, const Arrays& g, const Arrays&, const std::vector<int>& wanted) {
        const bool weights =
            normed && std::any_of(wanted.begin(), wanted.end(), [](int i) { return i >= 3; });
        CpuKernel grad{"SplitHeadsCpuVjp", nullptr, nullptr};
        grad.run = [spec, normed, weights](const Arrays& in, Arrays& out) {
          const Sizes z(in[0], in[1], spec);
          const float *x = in[0].data<float>(), *c = in[1].data<float>(), *s = in[2].data<float>();
          const float* g[3] = {in[3].data<float>(), in[4].data<float>(), in[5].data<float>()};
          const float* norm[2] = {
              normed ? in[6].data<float>() : nullptr, normed ? in[7].data<float>() : nullptr};
          float* dx = out[0].data<float>();
          const int step = z.grain(), N = z.B * z.L;
          // For each piece, the gradients of both norms side by side.
          std::vector<float> parts(weights ? size_t((N + step - 1) / step) * 2 * z.E : 0);
          parallel_for(N, step, [&](int from, int until) {
            z.each(from, until, [&](int64_t at, int part, int64_t head, int64_t angle) {
              if (part == 2) {
                std::copy(g[2] + head, g[2] + head + z.E, dx + at);
                return;
              }
              float* dw = weights ? &parts[(size_t(from / step) * 2 + part) * z.E] : nullptr;
              ATELIER_LOOP(backward_head)(
                  x + at,
                  norm[part],
                  c + angle,
                  s + angle,
                  g[part] + head,
                  dx + at,
                  dw,
                  z.E,
                  z.R,
                  spec.eps);
            });
          });
          for (size_t w = 1; w < out.size(); w++) {
            std::fill(out[w].data<float>(), out[w].data<float>() + z.E, 0.0f);
          }
          for (size_t i = 0; i < parts.size(); i++) {
            out[1 + i / z.E % 2].data<float>()[i % z.E] += parts[i];
          }
        };
        Arrays inputs{
            in[0], in[1], in[2], mx::contiguous(g[0]), mx::contiguous(g[1]), mx::contiguous(g[2])};
        std::vector<mx::Shape> shapes{in[0].shape()};
        if (normed) {
          inputs.insert(inputs.end(), {in[3], in[4]});
          shapes.insert(shapes.end(), {in[3].shape(), in[4].shape()});
        }
        const Arrays d = apply(grad, inputs, shapes);
        // The angles have no gradient.
        Arrays out{d[0], mx::zeros_like(in[1]), mx::zeros_like(in[2])};
        out.insert(out.end(), d.begin() + 1, d.end());
        return out;
      };
  Arrays inputs{mx::contiguous(qkv), mx::contiguous(cos), mx::contiguous(sin)};
  if (normed) {
    inputs.insert(inputs.end(), {mx::contiguous(*q_norm), mx::contiguous(*k_norm)});
  }
  const int B = qkv.shape(0), L = qkv.shape(1), E = spec.head_dim;
  const mx::Shape kv{B, spec.kv_heads, L, E};
  const Arrays out = apply(kernel, inputs, {{B, spec.heads, L, E}, kv, kv});
  return {out[0], out[1], out[2]};
}

}  // namespace atelier
