#include "kernels/token_head.h"
#include "testing/on_cpu.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace atelier;

namespace {

float largest_difference(const mx::array& a, const mx::array& b) {
  return mx::max(mx::abs(a - b)).item<float>();
}

}  // namespace

TEST_CASE_FIXTURE(
    testing::OnCpu,
    "token head kernels equal their plain twins" * testing::cpu_kernels) {
  for (int V : {1, 7, 16, 50, 1000}) {
    CAPTURE(V);
    mx::random::seed(V);
    auto logits = mx::random::normal({33, V}) * mx::array(8.0f) + mx::array(15.0f);
    auto targets = mx::random::randint(0, V, {33}, mx::int32);
    auto g = mx::random::normal({33}), h = mx::random::normal({33});
    auto plain = token_head_plain(logits, targets, true);
    auto fused = token_head_cpu(logits, targets, true);
    CHECK(largest_difference(plain.logp, fused.logp) < 1e-5f);
    CHECK(largest_difference(plain.lse, fused.lse) < 1e-5f);
    CHECK(largest_difference(plain.entropy, fused.entropy) < 2e-5f);
    CHECK(largest_difference(*plain.p, *fused.p) < 1e-5f);
    auto without = token_head_cpu(logits, targets, false);
    CHECK(largest_difference(without.logp, fused.logp) == 0.0f);
    CHECK_FALSE(without.p.has_value());
    for (bool entropy : {false, true}) {
      TokenHeadCotangents by{g, entropy ? std::optional(h) : std::nullopt};
      CHECK(
          largest_difference(
              token_head_backward_plain(logits, targets, plain, by),
              token_head_backward_cpu(logits, targets, plain, by)) < 5e-5f);
    }
  }
}

TEST_CASE_FIXTURE(
    testing::OnCpu,
    "token head: impossible tokens and broken logits" * testing::cpu_kernels) {
  float inf = std::numeric_limits<float>::infinity();
  mx::array logits({1.0f, -inf, 2.0f, 1.0f, NAN, 2.0f}, {2, 3});
  mx::array targets({1, 0}, {2}, mx::int32);
  auto s = token_head_cpu(logits, targets, false);
  mx::eval(s.logp, s.lse);
  CHECK(s.logp.data<float>()[0] == -inf);
  CHECK(s.lse.data<float>()[0] == doctest::Approx(std::log(std::exp(1.0) + std::exp(2.0))));
  CHECK(std::isnan(s.logp.data<float>()[1]));
}
