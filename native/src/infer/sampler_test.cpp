// Against transformers 5.24.0's logits processors (fixtures sampling/processors.json).
#include "infer/sampler.h"
#include "core/random.h"
#include "testing/fixtures.h"

#include <doctest/doctest.h>

using namespace atelier;
using namespace atelier::testing;

namespace {

mx::array numbers(const Json& rows) {
  std::vector<float> flat;
  for (const Json& row : rows) {
    for (const Json& x : row) {
      flat.push_back(x.get<float>());
    }
  }
  const int n = static_cast<int>(rows.size());
  return mx::array(flat.begin(), {n, static_cast<int>(flat.size()) / n}, mx::float32);
}

}  // namespace

TEST_CASE("temperature, top-k, top-p and min-p filter as transformers does") {
  const Json file = fixture_json("sampling/processors.json");
  const mx::array logits = numbers(file["inputs"]["logits"]);
  int compared = 0;
  for (const Json& c : file["cases"]) {
    Sampling s;
    bool ours = true;
    for (const auto& [key, value] : c["config"].items()) {
      if (key == "temperature") {
        s.temperature = value.get<float>();
      } else if (key == "top_k") {
        s.top_k = value.get<int>();
      } else if (key == "top_p") {
        s.top_p = value.get<float>();
      } else if (key == "min_p") {
        s.min_p = value.get<float>();
      } else {
        ours = false;  // penalties are not among the engine's samplers
      }
    }
    if (!ours) {
      continue;
    }
    CAPTURE(c["config"].dump());
    const mx::array expected = numbers(c["expected_probs"]);
    const mx::array p = mx::exp(filtered_logprobs(logits, s));
    CHECK(excess(p, expected, 1e-5, 0) <= 1);
    CHECK(
        mx::array_equal(mx::equal(p, mx::array(0.0f)), mx::equal(expected, mx::array(0.0f)))
            .item<bool>());
    s.temperature = 0;
    const mx::array greedy = sample(logits, s, mx::zeros({3})).token;
    CHECK(
        mx::array_equal(
            greedy, mx::array(c["greedy"].get<std::vector<int32_t>>().data(), {3}, mx::int32))
            .item<bool>());
    compared++;
  }
  CHECK(compared >= 6);
}

TEST_CASE("draws follow the distribution and report its log-probabilities") {
  const int N = 20000;
  const mx::array row = mx::array({0.5f, -1.0f, 2.0f, 1.0f, -30.0f, 0.0f}, {1, 6});
  const mx::array logits = mx::broadcast_to(row, {N, 6});
  std::vector<float> u(N);
  for (int i = 0; i < N; i++) {
    u[i] = random_uniform(7, Stream::sampling, i, 0);
  }
  const mx::array uniform(u.begin(), {N}, mx::float32);
  for (const Sampling& s :
       {Sampling{}, Sampling{0.7f, 0, 1, 0}, Sampling{1.3f, 3, 1, 0}, Sampling{1, 0, 0.8f, 0}}) {
    const Draw d = sample(logits, s, uniform);
    const mx::array logp = filtered_logprobs(row, s);
    CHECK(excess(d.logprob, mx::take(mx::flatten(logp), d.token), 1e-6, 0) <= 1);
    CHECK(
        excess(d.raw_logprob, mx::take(mx::flatten(row - mx::logsumexp(row)), d.token), 1e-6, 0) <=
        1);
    for (int v = 0; v < 6; v++) {
      const float share =
          mx::mean(mx::astype(mx::equal(d.token, mx::array(v)), mx::float32)).item<float>();
      const float p = std::exp(mx::take(mx::flatten(logp), mx::array(v)).item<float>());
      // Five standard deviations.
      CHECK(std::abs(share - p) <= 5 * std::sqrt(p * (1 - p) / N) + 1e-7);
      CHECK((p > 0 || share == 0));
    }
  }
}

TEST_CASE("the ends of the unit interval never choose a token of probability 0") {
  const mx::array logits = mx::array({-INFINITY, 1.0f, 0.0f, -INFINITY}, {1, 4});
  CHECK(sample(logits, {}, mx::array({0.0f})).token.item<int>() == 1);
  CHECK(sample(logits, {}, mx::array({1 - 0x1p-23f})).token.item<int>() == 2);
}
