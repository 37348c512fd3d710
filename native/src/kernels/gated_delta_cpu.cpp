// Shapes: B batch, L length, Hk key heads, H value heads, D key head, E value head.
#include "kernels/gated_delta.h"

#include "kernels/parallel.h"

#include <algorithm>
#include <cmath>

namespace atelier {
namespace {

/** One position of one head. */
struct Position {
  const float *q, *k, *v, *decay;
  float beta;
};

/** Gradients of one position, of one head. */
struct PositionGradient {
  float *q, *k, *v, *decay, *beta;
};

}  // namespace
}  // namespace atelier

#define ATELIER_LOOPS "kernels/loops/gated_delta_cpu.h"
#include "kernels/loops/processors.h"

namespace atelier {
namespace {

// The backward keeps the state every so many positions and computes those between again: as many states as there
// are positions would be much more than all else that training keeps.
constexpr int segment = 16;

struct Sizes {
  int B, L, Hk, H, D, E;
  bool channels;

  Sizes(const Arrays& in)
      : B(in[2].shape(0)),
        L(in[2].shape(1)),
        Hk(in[0].shape(2)),
        H(in[2].shape(2)),
        D(in[0].shape(3)),
        E(in[2].shape(3)),
        channels(in[3].shape(3) > 1) {}

  int decays() const {
    return channels ? D : 1;
  }
  int64_t state() const {
    return int64_t{D} * E;
  }
  int64_t key(int b, int l, int h) const {
    return ((int64_t{b} * L + l) * Hk + h / (H / Hk)) * D;
  }
  int64_t at(int b, int l, int h) const {
    return (int64_t{b} * L + l) * H + h;
  }
};

struct Reader {
  const float *q, *k, *v, *decay, *beta;

  explicit Reader(const Arrays& in)
      : q(in[0].data<float>()),
        k(in[1].data<float>()),
        v(in[2].data<float>()),
        decay(in[3].data<float>()),
        beta(in[4].data<float>()) {}

  Position position(const Sizes& z, int b, int l, int h) const {
    const int64_t key = z.key(b, l, h), at = z.at(b, l, h);
    return {q + key, k + key, v + at * z.E, decay + at * z.decays(), beta[at]};
  }
};

Arrays backward(const Arrays& in, const Arrays& cotangents) {
  CpuKernel kernel{"GatedDeltaCpuVjp", nullptr, nullptr};
  kernel.run = [](const Arrays& in, Arrays& out) {
    const Sizes z(in);
    const Reader x(in);
    const float *initial = in[5].data<float>(), *dy = in[6].data<float>(),
                *dS = in[7].data<float>();
    for (size_t i = 0; i < out.size(); i++) {
      std::fill(out[i].data<float>(), out[i].data<float>() + out[i].size(), 0.0f);
    }
    float *dq = out[0].data<float>(), *dk = out[1].data<float>(), *dv = out[2].data<float>();
    float *d_decay = out[3].data<float>(), *d_beta = out[4].data<float>();
    float* d_initial = out[5].data<float>();
    const int64_t size = z.state();
    const int segments = (z.L + segment - 1) / segment, group = z.H / z.Hk;
    // The heads that share a key add to one gradient: one piece of work.
    parallel_for(z.B * z.Hk, 1, [&](int from, int to) {
      std::vector<float> kept(segments * size), states((segment + 1) * size), a(z.D), work(2 * z.E);
      for (int n = from * group; n < to * group; n++) {
        const int b = n / z.H, h = n % z.H;
        std::copy(initial + n * size, initial + (n + 1) * size, states.begin());
        for (int l = 0; l < z.L; l++) {
          if (l % segment == 0) {
            std::copy(states.begin(), states.begin() + size, kept.begin() + l / segment * size);
          }
          ATELIER_LOOP(advance)(
              x.position(z, b, l, h),
              z.channels,
              states.data(),
              states.data(),
              a.data(),
              work.data(),
              z.D,
              z.E);
        }
        float* d_state = d_initial + n * size;
        std::copy(dS + n * size, dS + (n + 1) * size, d_state);
        for (int s = segments - 1; s >= 0; s--) {
          const int begin = s * segment, end = std::min(begin + segment, z.L);
          std::copy(kept.begin() + s * size, kept.begin() + (s + 1) * size, states.begin());
          for (int l = begin; l < end; l++) {
            float* before = states.data() + (l - begin) * size;
            ATELIER_LOOP(advance)(
                x.position(z, b, l, h),
                z.channels,
                before,
                before + size,
                a.data(),
                work.data(),
                z.D,
                z.E);
          }
          for (int l = end - 1; l >= begin; l--) {
            const float* before = states.data() + (l - begin) * size;
            const int64_t key = z.key(b, l, h), at = z.at(b, l, h);
            ATELIER_LOOP(retreat)(
                x.position(z, b, l, h),
                z.channels,
                before,
                before + size,
                dy + at * z.E,
                d_state,
                {dq + key, dk + key, dv + at * z.E, d_decay + at * z.decays(), d_beta + at},
                a.data(),
                work.data(),
                z.D,
                z.E);
          }
        }
      }
    });
  };
  Arrays inputs(in.begin(), in.begin() + 6);
  std::vector<mx::Shape> shapes;
  for (const mx::array& a : inputs) {
    shapes.push_back(a.shape());
  }
  for (const mx::array& c : cotangents) {
    inputs.push_back(mx::contiguous(c));
  }
  return apply(kernel, inputs, shapes);
}

}  // namespace

DeltaOutput gated_delta_cpu(const DeltaInput& in) {
  const int B = in.v.shape(0), L = in.v.shape(1), H = in.v.shape(2), E = in.v.shape(3);
  const int D = in.k.shape(3);
  const mx::Shape state{B, H, D, E};
  CpuKernel kernel{"GatedDeltaCpu", nullptr, nullptr};
  kernel.run = [](const Arrays& in, Arrays& out) {
    const Sizes z(in);
    const Reader x(in);
    const float* initial = in[5].data<float>();
    float *y = out[0].data<float>(), *states = out[1].data<float>();
    const int64_t size = z.state();
    const int64_t cost = int64_t{z.L} * size;
    const int grain = static_cast<int>(std::max<int64_t>(1, 100'000 / std::max<int64_t>(1, cost)));
    parallel_for(z.B * z.H, grain, [&](int from, int to) {
      std::vector<float> a(z.D), delta(z.E);
      for (int n = from; n < to; n++) {
        const int b = n / z.H, h = n % z.H;
        float* S = states + n * size;
        const float* before = initial + n * size;
        if (z.L == 0) {
          std::copy(before, before + size, S);
        }
        for (int l = 0; l < z.L; l++) {
          const Position at = x.position(z, b, l, h);
          ATELIER_LOOP(advance)(at, z.channels, before, S, a.data(), delta.data(), z.D, z.E);
          ATELIER_LOOP(answer)(S, at.q, y + z.at(b, l, h) * z.E, z.D, z.E);
          before = S;
        }
      }
    });
  };
  kernel.vjp =
      [](const Arrays& in, const Arrays& cotangents, const Arrays&, const std::vector<int>&) {
        return backward(in, cotangents);
      };
  const Arrays out = apply(
      kernel,
      {mx::contiguous(in.q),
       mx::contiguous(in.k),
       mx::contiguous(in.v),
       mx::contiguous(in.decay),
       mx::contiguous(in.beta),
       mx::contiguous(in.state ? *in.state : mx::zeros(state))},
      {{B, L, H, E}, state});
  return {out[0], out[1]};
}

}  // namespace atelier
