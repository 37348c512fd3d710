#include "train/token_stats.h"
#include "testing/on_cpu.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace atelier;

namespace {

using Arrays = std::vector<mx::array>;

struct Problem {
  mx::array hidden_TD, head_VD, targets_T, on_logp_T, on_entropy_T;
};

Problem problem(int T, int D, int V, uint64_t seed) {
  mx::random::seed(seed);
  Problem p{
      mx::random::normal({T, D}) * mx::array(3.0f),
      mx::random::normal({V, D}) * mx::array(0.2f),
      mx::random::randint(0, V, {T}, mx::int32),
      mx::random::normal({T}),
      mx::random::normal({T})};
  mx::eval(p.hidden_TD, p.head_VD, p.targets_T, p.on_logp_T, p.on_entropy_T);
  return p;
}

// The formula itself in f64: sum of weighted log p and entropy.
mx::array expected(const Problem& p, const Arrays& in, double temperature, bool with_entropy) {
  auto logits = mx::matmul(in[0], mx::transpose(in[1])) / mx::array(temperature, mx::float64);
  auto log_p = logits - mx::logsumexp(logits, -1, true);
  auto target = mx::squeeze(mx::take_along_axis(log_p, mx::expand_dims(p.targets_T, 1), 1), 1);
  auto sum = mx::sum(target * mx::astype(p.on_logp_T, mx::float64));
  if (with_entropy) {
    auto entropy = -mx::sum(mx::exp(log_p) * log_p, -1);
    sum = sum + mx::sum(entropy * mx::astype(p.on_entropy_T, mx::float64));
  }
  return sum;
}

double relative_error(const mx::array& got, const mx::array& want) {
  auto w = mx::astype(want, mx::float32);
  auto largest = mx::max(mx::abs(w)).item<float>();
  return mx::max(mx::abs(mx::astype(got, mx::float32) - w)).item<float>() / largest;
}

uint64_t growth_of_peak(const Problem& p, const HeadOptions& options) {
  auto value = [&](const Arrays& in) {
    auto s = token_stats(in[0], options.train_head ? in[1] : p.head_VD, p.targets_T, options);
    auto sum = mx::sum(s.logp * p.on_logp_T);
    return Arrays{options.entropy_gradient ? sum + mx::sum(*s.entropy * p.on_entropy_T) : sum};
  };
  mx::synchronize();
  mx::clear_cache();
  auto before = mx::get_active_memory();
  mx::reset_peak_memory();
  std::vector<int> arguments = options.train_head ? std::vector<int>{0, 1} : std::vector<int>{0};
  auto [values, grads] = mx::value_and_grad(value, arguments)({p.hidden_TD, p.head_VD});
  values.insert(values.end(), grads.begin(), grads.end());
  mx::eval(values);
  mx::synchronize();
  return mx::get_peak_memory() - before;
}

}  // namespace

TEST_CASE("token statistics and their gradients equal the plain formula in float64") {
  struct Case {
    bool train_head, entropy, entropy_gradient;
    float temperature;
  };
  for (const Case& c :
       {Case{false, true, false, 1.0f},
        Case{false, true, true, 1.0f},
        Case{true, true, true, 1.0f},
        Case{true, false, false, 0.7f},
        Case{false, false, false, 0.7f},
        Case{true, true, true, 1.5f}}) {
    for (uint64_t seed = 0; seed < 5; seed++) {
      auto p = problem(29, 24, 50, seed);
      HeadOptions o{
          8,
          c.temperature,
          c.train_head,
          c.entropy,
          c.entropy_gradient};  // the last chunk is short
      auto value = [&](const Arrays& in) {
        auto s = token_stats(in[0], in[1], p.targets_T, o);
        auto sum = mx::sum(s.logp * p.on_logp_T);
        return Arrays{c.entropy_gradient ? sum + mx::sum(*s.entropy * p.on_entropy_T) : sum};
      };
      auto reference = [&](const Arrays& in) {
        return Arrays{expected(p, in, c.temperature, c.entropy_gradient)};
      };
      std::vector<int> arguments = c.train_head ? std::vector<int>{0, 1} : std::vector<int>{0};
      auto got = mx::value_and_grad(value, arguments)({p.hidden_TD, p.head_VD});
      const testing::OnCpu on_cpu;  // a GPU has no float64
      Arrays doubles{mx::astype(p.hidden_TD, mx::float64), mx::astype(p.head_VD, mx::float64)};
      auto want = mx::value_and_grad(reference, arguments)(doubles);
      CHECK(relative_error(got.first[0], want.first[0]) < 1e-4);
      for (size_t i = 0; i < arguments.size(); i++) {
        CHECK(relative_error(got.second[i], want.second[i]) < 5e-5);
      }
    }
  }
}

TEST_CASE("the entropy of a frozen head is the entropy") {
  auto p = problem(40, 24, 50, 7);
  auto frozen = token_stats(p.hidden_TD, p.head_VD, p.targets_T, {16, 1.0f, false, true, false});
  auto again = token_stats(p.hidden_TD, p.head_VD, p.targets_T, {16, 1.0f, false, true, true});
  CHECK(mx::max(mx::abs(*frozen.entropy - *again.entropy)).item<float>() < 2e-5f);
  CHECK(mx::max(mx::abs(frozen.logp - again.logp)).item<float>() == 0.0f);
}

TEST_CASE("forward and backward never hold the logits") {
  constexpr int T = 4096, V = 49152;
  auto p = problem(T, 64, V, 1);
  uint64_t quarter = uint64_t{T} * V * 4 / 4;
  HeadOptions frozen{head_chunk(V, size_t{8} << 20), 1.0f, false, true, false};
  CHECK(growth_of_peak(p, frozen) < quarter);
  HeadOptions trained = frozen;
  trained.train_head = trained.entropy_gradient = true;
  CHECK(growth_of_peak(p, trained) < quarter);
}
