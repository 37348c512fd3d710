// The whole model on the kernels' plain-op twins: what GPUs and other types run.
#include "infer/generate.h"
#include "io/safetensors.h"
#include "kernels/primitive.h"
#include "models/load.h"
#include "testing/fixtures.h"

#include <doctest/doctest.h>

using namespace atelier;
using namespace atelier::testing;

namespace {

struct PlainOps {
  PlainOps() {
    use_kernels(false);
  }
  ~PlainOps() {
    use_kernels(true);
  }
};

// Mean squared logits and their gradient by every weight, over rows padded on the right.
std::vector<mx::array> gradients(const LoadedModel& m, const mx::array& ids) {
  std::vector<std::string> names;
  std::vector<mx::array> values;
  for (const auto& [name, value] : m.weights) {
    names.push_back(name);
    values.push_back(value);
  }
  auto f = [&](const std::vector<mx::array>& in) {
    Params w;
    for (size_t i = 0; i < names.size(); i++) {
      w.emplace(names[i], in[i]);
    }
    return std::vector<mx::array>{
        mx::mean(mx::square(m.model->logits(w, m.model->hidden(w, {}, ids))))};
  };
  auto out = mx::vjp(f, values, {mx::array(1.0f)});
  out.second.push_back(out.first[0]);
  mx::eval(out.second);
  return out.second;
}

}  // namespace

TEST_CASE("plain ops: transformers' logits, the kernels' gradients") {
  for (const std::string name :
       {"qwen3_tied",
        "qwen3_untied",
        "smollm2",
        "llama3_rope",
        "qwen2",
        "gemma3_text",
        "qwen3_moe",
        "qwen3_moe_nonorm",
        "mistral",
        "smollm3",
        "llama_yarn",
        "qwen3_5",
        "qwen3_5_moe",
        "qwen3_next",
        "bailing_moe_v3"}) {
    CAPTURE(name);
    const LoadedModel m = load_model(fixture("models/" + name), mx::float32);
    const Params io = load_safetensors(fixture("models/" + name + "/io.safetensors"), std::nullopt);
    const mx::array ids = mx::astype(io.at("nopad.input_ids"), mx::int32);
    const std::vector<mx::array> kernels = gradients(m, ids);
    const PlainOps plain;
    const mx::array logits = m.model->logits(m.weights, m.model->hidden(m.weights, {}, ids));
    CHECK(excess(logits, io.at("nopad.logits"), 1e-4, 1e-4) <= 1);
    const std::vector<mx::array> twins = gradients(m, ids);
    for (size_t i = 0; i < twins.size(); i++) {
      const double largest = mx::max(mx::abs(twins[i])).item<float>();
      if (largest == 0) {  // a router's bias
        CHECK(mx::max(mx::abs(kernels[i])).item<float>() == 0);
        continue;
      }
      CHECK(excess(kernels[i], twins[i], 1e-4 * largest, 1e-3) <= 1);
    }
  }
}

TEST_CASE("a packed row behind a block-diagonal mask computes what its parts compute alone") {
  const LoadedModel m = load_model(fixture("models/qwen3_tied"), mx::float32);
  const mx::array a = mx::array({5, 6, 7, 8, 9}, {1, 5}), b = mx::array({400, 30, 2}, {1, 3});
  const mx::array segment = mx::array({0, 0, 0, 0, 0, 1, 1, 1});
  const mx::array at = mx::arange(8);
  const mx::array mask = mx::reshape(
      mx::logical_and(
          mx::equal(mx::expand_dims(segment, 1), segment),
          mx::greater_equal(mx::expand_dims(at, 1), at)),
      {1, 1, 8, 8});
  const mx::array packed =
      m.model->hidden(m.weights, {}, mx::concatenate({a, b}, 1), nullptr, mask);
  const mx::array apart =
      mx::concatenate({m.model->hidden(m.weights, {}, a), m.model->hidden(m.weights, {}, b)}, 1);
  CHECK(excess(packed, apart, 1e-4, 1e-4) <= 1);
}

TEST_CASE("plain ops: generation says the same") {
  const LoadedModel m = load_model(fixture("models/smollm2"), mx::float32);
  GenerateRequest r;
  r.prompts = {{1, 2, 3, 4}, {5}, {6, 7}};
  r.samples_per_prompt = 4;
  r.max_new_tokens = 20;
  r.sampling.temperature = 0.8f;
  for (int id = 0; id < m.model->config().vocabulary; id += 20) {
    r.stop_ids.push_back(id);
  }
  const auto kernels = generate(*m.model, m.weights, {}, r);
  const PlainOps plain;
  const auto twins = generate(*m.model, m.weights, {}, r);
  int same = 0;
  for (size_t i = 0; i < twins.size(); i++) {
    if (kernels[i].ids == twins[i].ids) {
      same++;
      for (size_t t = 0; t < twins[i].ids.size(); t++) {
        CHECK(std::abs(kernels[i].logprob[t] - twins[i].logprob[t]) < 1e-4);
        CHECK(std::abs(kernels[i].raw_logprob[t] - twins[i].raw_logprob[t]) < 1e-4);
      }
    }
  }
  // A draw within rounding of a step of the distribution may fall on either side.
  CHECK(same >= 11);
}
