// Against transformers 5.24.0's logits processors (fixtures sampling/processors.json).
#include "infer/sampler.h"
#include "core/random.h"
#include "testing/fixtures.h"

#include <doctest/doctest.h>

#include <set>

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

/** Rows of a history, split into prompt and answer. */
struct Histories {
  std::vector<std::vector<int32_t>> prompts, answers;

  Histories(const Json& rows, size_t prompt) {
    for (const Json& row : rows) {
      auto ids = row.get<std::vector<int32_t>>();
      prompts.emplace_back(ids.begin(), ids.begin() + prompt);
      answers.emplace_back(ids.begin() + prompt, ids.end());
    }
  }
  std::vector<History> rows() const {
    std::vector<History> rows;
    for (size_t b = 0; b < prompts.size(); b++) {
      rows.push_back({&prompts[b], &answers[b]});
    }
    return rows;
  }
};

const std::vector<int32_t> no_stops;

Sampling read_sampling(const Json& config) {
  Sampling s;
  s.temperature = config.value("temperature", 1.0f);
  s.top_k = config.value("top_k", 0);
  s.top_p = config.value("top_p", 1.0f);
  s.min_p = config.value("min_p", 0.0f);
  s.typical_p = config.value("typical_p", 1.0f);
  s.epsilon = config.value("epsilon_cutoff", 0.0f);
  s.penalties.repetition = config.value("repetition_penalty", 1.0f);
  s.penalties.frequency = config.value("frequency_penalty", 0.0f);
  s.penalties.presence = config.value("presence_penalty", 0.0f);
  s.penalties.no_repeat_ngram = config.value("no_repeat_ngram_size", 0);
  const Json bias = config.value("logit_bias", Json::object());
  for (const auto& [id, value] : bias.items()) {
    s.bias[std::stoi(id)] = value.get<float>();
  }
  for (const int id : config.value("suppress_tokens", std::vector<int>{})) {
    s.bias[id] = -INFINITY;
  }
  return s;
}

bool same_zeros(const mx::array& p, const mx::array& expected) {
  const mx::array none(0.0f);
  return mx::array_equal(mx::equal(p, none), mx::equal(expected, none)).item<bool>();
}

}  // namespace

TEST_CASE("penalties, bias and filters change a distribution as transformers does") {
  const Json file = fixture_json("sampling/processors.json");
  const std::set<std::string> known{
      "temperature",
      "top_k",
      "top_p",
      "min_p",
      "typical_p",
      "epsilon_cutoff",
      "repetition_penalty",
      "suppress_tokens",
      "no_repeat_ngram_size",
      "logit_bias"};
  const mx::array logits = numbers(file["inputs"]["logits"]);
  const Histories history(file["inputs"]["history_ids"], 4);
  const Said said{history.rows(), &no_stops};
  for (const Json& c : file["cases"]) {
    CAPTURE(c["config"].dump());
    for (const auto& [key, value] : c["config"].items()) {
      CHECK(known.count(key) == 1);
    }
    Sampling s = read_sampling(c["config"]);
    const mx::array expected = numbers(c["expected_probs"]);
    const mx::array p = mx::exp(filtered_logprobs(edited(logits, s, said), s));
    CHECK(excess(p, expected, 1e-5, 0) <= 1);
    CHECK(same_zeros(p, expected));
    s.temperature = 0;
    const mx::array greedy = sample(logits, s, mx::zeros({3}), said).token;
    const auto want = c["greedy"].get<std::vector<int32_t>>();
    CHECK(mx::array_equal(greedy, mx::array(want.data(), {3}, mx::int32)).item<bool>());
  }
}

TEST_CASE("presence, frequency and repetition change logits as vLLM does") {
  const Json file = fixture_json("sampling/processors.json");
  const Json& vllm = file["penalties_vllm"];
  const mx::array logits = numbers(file["inputs"]["logits"]);
  const Histories history(file["inputs"]["history_ids"], vllm["prompt_len"].get<size_t>());
  for (const Json& c : vllm["cases"]) {
    CAPTURE(c["config"].dump());
    const Sampling s = read_sampling(c["config"]);
    const mx::array x = edited(logits, s, {history.rows(), &no_stops});
    CHECK(excess(x, numbers(c["expected_logits"]), 1e-5, 0) <= 1);
    CHECK(excess(mx::exp(filtered_logprobs(x, s)), numbers(c["expected_probs"]), 1e-5, 0) <= 1);
  }
}

// transformers' MinNewTokensLengthLogitsProcessor.
TEST_CASE("no stop id is drawn before the least length, and no suppressed one ever") {
  const std::vector<int32_t> prompt{3, 3}, one{2}, two{2, 2}, stops{0};
  Sampling s{0.0f};
  s.penalties.min_new_tokens = 2;
  s.bias[1] = -INFINITY;
  const mx::array logits = mx::broadcast_to(mx::array({10.0f, 9.0f, 8.0f, 7.0f}, {1, 4}), {2, 4});
  const Draw d = sample(logits, s, mx::zeros({2}), {{{&prompt, &one}, {&prompt, &two}}, &stops});
  CHECK(mx::array_equal(d.token, mx::array({2, 0})).item<bool>());
  // Of the logits as they were, beside a draw that is certain.
  CHECK(excess(d.logprob, mx::zeros({2}), 1e-9, 0) <= 1);
  const mx::array raw = logits - mx::logsumexp(logits, -1, true);
  CHECK(d.raw_logprob.shape() == mx::Shape{2});
  CHECK(excess(d.raw_logprob, mx::take(mx::flatten(raw), mx::array({2, 4})), 1e-6, 0) <= 1);
}

TEST_CASE("where nothing is left to draw, the log-probability is no number") {
  const std::vector<int32_t> prompt{0, 1, 2}, answer;
  for (float temperature : {0.0f, 1.0f}) {
    Sampling s{temperature};
    s.penalties.no_repeat_ngram = 1;
    Draw d = sample(mx::zeros({1, 3}), s, mx::zeros({1}), {{{&prompt, &answer}}, &no_stops});
    CHECK(std::isnan(d.logprob.item<float>()));
    CHECK(std::isfinite(d.raw_logprob.item<float>()));
  }
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
    const Draw d = sample(logits, s, uniform, {});
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
  CHECK(sample(logits, {}, mx::array({0.0f}), {}).token.item<int>() == 1);
  CHECK(sample(logits, {}, mx::array({1 - 0x1p-23f}), {}).token.item<int>() == 2);
}
