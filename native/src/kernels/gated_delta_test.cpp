// The kernels against their plain-op twins, and the delta rule against its equation, position by position.
#include "kernels/gated_delta.h"
#include "kernels/short_conv.h"
#include "testing/fixtures.h"
#include "testing/on_cpu.h"

#include <doctest/doctest.h>

using namespace atelier;
using namespace atelier::testing;

namespace {

mx::array draw(const mx::Shape& shape, int seed, float scale = 1) {
  return mx::random::normal(shape, mx::float32, 0, scale, mx::random::key(seed));
}

struct Shape {
  int B, L, Hk, H, D, E;
  bool channels;
};

DeltaInput input(const Shape& s, bool with_state, float decay = 1) {
  auto unit = [](const mx::array& a) {
    return a * mx::rsqrt(mx::sum(mx::square(a), -1, true) + mx::array(1e-6f));
  };
  return {
      unit(draw({s.B, s.L, s.Hk, s.D}, 1)) * mx::array(0.3f),
      unit(draw({s.B, s.L, s.Hk, s.D}, 2)),
      draw({s.B, s.L, s.H, s.E}, 3),
      mx::negative(mx::abs(draw({s.B, s.L, s.H, s.channels ? s.D : 1}, 4, decay))),
      mx::sigmoid(draw({s.B, s.L, s.H}, 5)),
      with_state ? std::optional(draw({s.B, s.H, s.D, s.E}, 6)) : std::nullopt};
}

// The equation of gated_delta.h as it stands.
DeltaOutput by_position(const DeltaInput& in) {
  const int B = in.v.shape(0), L = in.v.shape(1), H = in.v.shape(2), E = in.v.shape(3);
  const int D = in.k.shape(3), times = H / in.k.shape(2);
  const mx::array q = mx::repeat(in.q, times, 2), k = mx::repeat(in.k, times, 2);
  auto at = [](const mx::array& a, int l) { return mx::take(a, l, 1); };
  mx::array S = in.state ? *in.state : mx::zeros({B, H, D, E});
  std::vector<mx::array> y;
  for (int l = 0; l < L; l++) {
    const mx::array kl = mx::expand_dims(at(k, l), 3), ql = mx::expand_dims(at(q, l), 3);
    S = S * mx::expand_dims(mx::exp(at(in.decay, l)), 3);
    const mx::array error = at(in.v, l) - mx::sum(S * kl, 2);
    S = S + kl * mx::expand_dims(error * mx::expand_dims(at(in.beta, l), 2), 2);
    y.push_back(mx::sum(S * ql, 2));
  }
  return {mx::stack(y, 1), S};
}

std::vector<mx::array> gradients(DeltaOutput (*rule)(const DeltaInput&), const DeltaInput& in) {
  auto f = [&](const std::vector<mx::array>& a) {
    const DeltaOutput out = rule({a[0], a[1], a[2], a[3], a[4], a[5]});
    return std::vector<mx::array>{
        mx::sum(out.y * draw(out.y.shape(), 7)) + mx::sum(out.state * draw(out.state.shape(), 8))};
  };
  return mx::vjp(f, {in.q, in.k, in.v, in.decay, in.beta, *in.state}, {mx::array(1.0f)}).second;
}

double share(const mx::array& got, const mx::array& expected) {
  const double largest = mx::max(mx::abs(expected)).item<float>();
  return excess(got, expected, 2e-5 * largest + 1e-7, 1e-4);
}

const Shape shapes[] = {
    {2, 1, 1, 2, 16, 16, false},
    {2, 63, 2, 4, 16, 8, false},
    {1, 64, 2, 2, 8, 24, false},
    {2, 130, 1, 3, 16, 20, false},
    {2, 1, 2, 2, 16, 16, true},
    {1, 17, 1, 2, 12, 16, true},
    {2, 70, 2, 2, 16, 20, true}};

}  // namespace

TEST_CASE_FIXTURE(
    testing::OnCpu,
    "gated delta: kernel and twin compute the equation, with and without a state before" *
        cpu_kernels) {
  for (const Shape& s : shapes) {
    for (const bool state : {false, true}) {
      CAPTURE(s.L);
      CAPTURE(s.channels);
      const DeltaInput in = input(s, state);
      const DeltaOutput expected = by_position(in);
      for (auto rule : {gated_delta_plain, gated_delta_cpu}) {
        const DeltaOutput got = rule(in);
        CHECK(share(got.y, expected.y) <= 1);
        CHECK(share(got.state, expected.state) <= 1);
      }
    }
  }
}

TEST_CASE_FIXTURE(
    testing::OnCpu,
    "gated delta: gradients of kernel and twin are the equation's" * cpu_kernels) {
  for (const Shape& s : shapes) {
    CAPTURE(s.L);
    CAPTURE(s.channels);
    const DeltaInput in = input(s, true);
    const std::vector<mx::array> expected = gradients(by_position, in);
    for (auto rule : {gated_delta_plain, gated_delta_cpu}) {
      const std::vector<mx::array> got = gradients(rule, in);
      for (size_t i = 0; i < expected.size(); i++) {
        CAPTURE(i);
        CHECK(share(got[i], expected[i]) <= 1);
      }
    }
  }
}

TEST_CASE_FIXTURE(
    testing::OnCpu,
    "gated delta: decays that forget at once stay finite, forwards and backwards" * cpu_kernels) {
  for (const bool channels : {false, true}) {
    DeltaInput in = input({1, 70, 1, 2, 8, 8, channels}, true, 500);
    const DeltaOutput expected = by_position(in);
    for (auto rule : {gated_delta_plain, gated_delta_cpu}) {
      CHECK(share(rule(in).y, expected.y) <= 1);
      for (const mx::array& g : gradients(rule, in)) {
        CHECK(mx::all(mx::isfinite(g)).item<bool>());
      }
    }
  }
}

TEST_CASE_FIXTURE(
    testing::OnCpu,
    "short convolution: the kernel's values and gradients are its twin's" * cpu_kernels) {
  for (const int C : {1, 16, 40}) {
    const mx::array x = draw({3, 3 + 9, C}, 1), w = draw({C, 4}, 2), g = draw({3, 9, C}, 3);
    auto run = [&](mx::array (*conv)(const mx::array&, const mx::array&)) {
      auto f = [&](const std::vector<mx::array>& a) {
        return std::vector<mx::array>{conv(a[0], a[1])};
      };
      auto [y, d] = mx::vjp(f, {x, w}, {g});
      d.push_back(y[0]);
      return d;
    };
    const std::vector<mx::array> expected = run(short_conv_plain), got = run(short_conv_cpu);
    for (size_t i = 0; i < expected.size(); i++) {
      CHECK(excess(got[i], expected[i], 1e-5, 1e-4) <= 1);
    }
  }
}
