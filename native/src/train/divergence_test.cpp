// Against trl 1.16.0's values (conformance/fixtures/losses) through the head, and the head against plain formulas.
#include "train/divergence.h"
#include "testing/fixtures.h"
#include "train/token_stats.h"

#include <doctest/doctest.h>

using namespace atelier;
using namespace atelier::testing;

namespace {

using Arrays = std::vector<mx::array>;

mx::array numbers(const Json& json, mx::Shape shape) {
  std::vector<float> flat;
  auto add = [&](auto& self, const Json& x) -> void {
    if (!x.is_array()) {
      flat.push_back(x.get<float>());
      return;
    }
    for (const auto& each : x) {
      self(self, each);
    }
  };
  add(add, json);
  return mx::array(flat.begin(), shape, mx::float32);
}

float largest_difference(const mx::array& a, const mx::array& b) {
  return mx::max(mx::abs(a - b)).item<float>();
}

// Student and teacher of a file, [T, V]; a head of ones in its diagonal makes logits of hidden states.
struct Case {
  int T, V;
  mx::array student, teacher;

  explicit Case(const Json& file)
      : T(static_cast<int>(
            file["inputs"]["student_logits"].size() * file["inputs"]["student_logits"][0].size())),
        V(static_cast<int>(file["inputs"]["student_logits"][0][0].size())),
        student(numbers(file["inputs"]["student_logits"], {T, V})),
        teacher(numbers(file["inputs"]["teacher_logits"], {T, V})) {}

  // Value [T] and its gradient by the student's logits, weighted by mask / over; head frozen or trained.
  std::pair<mx::array, mx::array> through_head(
      const std::function<TokenValue(const mx::array&, const mx::array&)>& of,
      const mx::array& mask_T,
      double over,
      bool train_head) const {
    auto head = mx::eye(V);
    auto value = [&](const Arrays& in) {
      auto v = over_vocabulary(
          in[0],
          train_head ? in[1] : head,
          {3, train_head},
          [&](const mx::array& logits, int from, int to) {
            return of(logits, mx::slice(teacher, {from, 0}, {to, V}));
          });
      return Arrays{mx::sum(v * mask_T / mx::array(static_cast<float>(over))), v};
    };
    std::vector<int> arguments = train_head ? std::vector<int>{0, 1} : std::vector<int>{0};
    auto [values, grads] = mx::value_and_grad(value, arguments)({student, head});
    mx::eval(values);
    mx::eval(grads);
    if (train_head) {
      // d head = d logits^T hidden: with a diagonal of ones the two tell the same.
      CHECK(largest_difference(grads[1], mx::matmul(mx::transpose(grads[0]), student)) < 1e-5f);
    }
    return {values[1], grads[0]};
  }
};

}  // namespace

TEST_CASE("the generalised Jensen-Shannon divergence and its gradient are trl's") {
  const Json file = fixture_json("losses/distill_gkd.json");
  const Case c(file);
  auto labels = numbers(file["inputs"]["labels"], {c.T});
  auto mask = mx::astype(mx::not_equal(labels, mx::array(-100.0f)), mx::float32);
  for (const auto& one : file["cases"]) {
    CAPTURE(one["name"]);
    const auto& config = one["config"];
    const float beta = config["beta"], temperature = config["temperature"];
    const double over = config.contains("num_items") ? config["num_items"].get<double>()
                                                     : mx::sum(mask).item<float>();
    for (bool train_head : {false, true}) {
      auto [value, gradient] = c.through_head(
          [&](const mx::array& s, const mx::array& t) { return jsd(s, t, beta, temperature); },
          mask,
          over,
          train_head);
      const double loss = mx::sum(value * mask).item<float>() / over;
      CHECK(std::abs(loss - one["expected"]["loss"].get<double>()) < 1e-5);
      auto expected = numbers(one["expected"]["grad_student_logits"], {c.T, c.V});
      CHECK(largest_difference(gradient, expected) < 1e-5f);
    }
  }
}

TEST_CASE("the divergence on the student's top k and its gradient are trl's") {
  const Json file = fixture_json("losses/distill_topk_and_sampled.json");
  const Case c(file);
  auto mask = numbers(file["inputs"]["mask"], {c.T});
  for (const auto& one : file["cases"]) {
    if (one["name"] == "sampled_token_reverse_kl") {
      continue;  // needs no more than log-probabilities
    }
    CAPTURE(one["name"]);
    const auto& config = one["config"];
    const TopkOptions o{
        config.value("topk", c.V), config.value("add_tail", false), config["alpha"], 1.0f};
    auto [value, gradient] = c.through_head(
        [&](const mx::array& s, const mx::array& t) { return topk_divergence(s, t, o); },
        mask,
        mx::sum(mask).item<float>(),
        false);
    auto expected = numbers(one["expected"]["per_token_loss"], {c.T});
    CHECK(largest_difference(value, expected) < 1e-5f);
    auto by_logits = numbers(one["expected"]["grad_student_logits_of_masked_mean"], {c.T, c.V});
    CHECK(largest_difference(gradient, by_logits) < 1e-5f);
  }
}

TEST_CASE("a certain student gives finite numbers, whatever the teacher says") {
  auto student = mx::array({0.0f, 200.0f, -200.0f}, {1, 3});
  auto teacher = mx::array({200.0f, 0.0f, -200.0f}, {1, 3});
  for (float beta : {0.0f, 0.5f, 1.0f}) {
    for (const auto& v :
         {jsd(student, teacher, beta, 1),
          topk_divergence(student, teacher, {1, true, beta, 1}),
          topk_divergence(student, teacher, {2, false, beta, 1})}) {
      CHECK(mx::all(mx::isfinite(v.value_C)).item<bool>());
      CHECK(mx::all(mx::isfinite(v.by_logits_CV)).item<bool>());
    }
  }
}

TEST_CASE("other quantities over the vocabulary are the plain formulas") {
  mx::random::seed(3);
  auto hidden = mx::random::normal({29, 24}), head = mx::random::normal({50, 24});
  auto targets = mx::random::randint(0, 50, {29}, mx::int32), on = mx::random::normal({29});
  auto logp_of = [](const mx::array& h, const mx::array& w) {
    auto logits = mx::matmul(h, mx::transpose(w));
    return logits - mx::logsumexp(logits, -1, true);
  };
  auto plain = [&](const Arrays& in) {
    return Arrays{mx::sum(mx::mean(logp_of(in[0], in[1]), -1) * on)};
  };
  auto chunked = [&](const Arrays& in) {
    auto v = over_vocabulary(in[0], in[1], {8, true}, [](const mx::array& logits, int, int) {
      return mean_logp(logits);
    });
    return Arrays{mx::sum(v * on)};
  };
  auto want = mx::value_and_grad(plain, {0, 1})({hidden, head});
  auto got = mx::value_and_grad(chunked, {0, 1})({hidden, head});
  CHECK(largest_difference(got.first[0], want.first[0]) < 1e-3f);
  CHECK(largest_difference(got.second[0], want.second[0]) < 1e-4f);
  CHECK(largest_difference(got.second[1], want.second[1]) < 1e-4f);

  auto logp = logp_of(hidden, head);
  auto squares = over_vocabulary(hidden, head, {8, false, false}, [](const mx::array& x, int, int) {
    return log_sum_sq_probs(x);
  });
  auto p = mx::exp(logp);
  CHECK(largest_difference(squares, mx::log(mx::sum(p * p, -1))) < 1e-4f);
  auto logits = mx::matmul(hidden, mx::transpose(head));
  CHECK(largest_difference(mean_logit(hidden, head), mx::mean(logits, -1)) < 1e-5f);
  auto correct =
      over_vocabulary(hidden, head, {8, false, false}, [&](const mx::array& x, int from, int to) {
        return is_correct(x, mx::slice(targets, {from}, {to}));
      });
  auto best =
      mx::astype(mx::equal(mx::argmax(logp, -1), mx::astype(targets, mx::uint32)), mx::float32);
  CHECK(largest_difference(correct, best) == 0.0f);
}

TEST_CASE("a divergence never holds the logits of either side, forward or backward") {
  constexpr int T = 4096, V = 49152, D = 64;
  mx::random::seed(1);
  auto hidden = mx::random::normal({T, D}), teacher = mx::random::normal({T, D});
  auto head = mx::random::normal({V, D}) * mx::array(0.2f);
  mx::eval(hidden, teacher, head);
  mx::synchronize();
  mx::clear_cache();
  auto before = mx::get_active_memory();
  mx::reset_peak_memory();
  VocabularyOptions o{head_chunk(V, size_t{2} << 20)};
  auto value = [&](const Arrays& in) {
    auto v = over_vocabulary(in[0], head, o, [&](const mx::array& student, int from, int to) {
      auto rows = mx::depends({mx::slice(teacher, {from, 0}, {to, D})}, {student})[0];
      return jsd(student, mx::matmul(rows, mx::transpose(head)), 0.5f, 1.0f);
    });
    return Arrays{mx::sum(v)};
  };
  auto [values, grads] = mx::value_and_grad(value, std::vector<int>{0})({hidden});
  mx::eval(values[0], grads[0]);
  mx::synchronize();
  CHECK(mx::get_peak_memory() - before < uint64_t{T} * V * 4 / 4);
}
