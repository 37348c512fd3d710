#include "infer/generate.h"
#include "models/load.h"
#include "testing/on_gpu.h"
#include "train/lora_init.h"
#include "train/score.h"
#include "train/trainable.h"

#include <doctest/doctest.h>

#include <cmath>
#include <tuple>

using namespace atelier;
using namespace atelier::testing;

namespace {

// Wide enough for every kernel of a decode step.
std::shared_ptr<LoadedModel> model(const char* config) {
  return std::make_shared<LoadedModel>(init_model(config, 1, mx::bfloat16));
}

// With an adapter that changes much, or without (rank 0).
Bound bound_with(const std::shared_ptr<LoadedModel>& loaded, int rank) {
  if (rank == 0) {
    return bind_model(*loaded);
  }
  LoraConfig config;
  config.rank = rank;
  config.alpha = 32;
  config.target_modules = "all-linear";
  Adapter adapter = init_adapter(config, *loaded, 1);
  for (auto& [name, value] : adapter.params) {
    if (name.ends_with("lora_B.weight")) {
      value = mx::random::normal(value.shape(), mx::float32, 0.0f, 0.02f, mx::random::key(7));
    }
  }
  return bind_adapter(*loaded, adapter, adapter.params);
}

// Prompts of different length; rows end early, so that batches are recorded anew.
GenerateRequest rollouts(int prompts, int samples) {
  GenerateRequest request;
  for (int i = 0; i < prompts; i++) {
    request.prompts.emplace_back(40 + i, 3 + i);
  }
  request.samples_per_prompt = samples;
  request.max_new_tokens = 64;
  for (int id = 0; id < 4096; id += 128) {
    request.stop_ids.push_back(id);
  }
  return request;
}

// Mean and largest |log p - log p| of sampler and trainer.
std::pair<double, double> distance(
    const Model& model,
    const Bound& bound,
    const GenerateRequest& request,
    const std::vector<GeneratedRow>& rows) {
  Rows scored;
  for (const GeneratedRow& row : rows) {
    const auto& prompt = request.prompts[row.prompt];
    scored.ids.insert(scored.ids.end(), prompt.begin(), prompt.end());
    scored.ids.insert(scored.ids.end(), row.ids.begin(), row.ids.end());
    scored.lengths.push_back(static_cast<int32_t>(prompt.size() + row.ids.size()));
  }
  const std::atomic<bool> never{false};
  const auto logp = score(model, bound, scored, {}, std::nullopt, never).at("logp");
  double most = 0, sum = 0, tokens = 0;
  size_t at = 0;
  for (const GeneratedRow& row : rows) {
    at += request.prompts[row.prompt].size() - 1;
    for (float sampled : row.logprob) {
      const double difference = std::abs(logp[at++] - sampled);
      most = std::max(most, difference);
      sum += difference;
      tokens++;
    }
  }
  return {sum / tokens, most};
}

void check_rollouts(const std::shared_ptr<LoadedModel>& loaded, int rank) {
  CAPTURE(rank);
  const Bound bound = bound_with(loaded, rank);
  // Of the last not all fit at a time: rows join those that are under way.
  for (auto [prompts, samples, at_once] :
       {std::tuple{1, 1, 256}, {2, 8, 256}, {3, 6, 256}, {8, 8, 256}, {32, 8, 256}, {32, 8, 120}}) {
    CAPTURE(prompts);
    CAPTURE(at_once);
    GenerateRequest request = rollouts(prompts, samples);
    request.max_rows = at_once;
    const auto first = generate(*loaded->model, bound.weights, bound.lora, request);
    for (int again = 0; again < 4; again++) {
      const auto rows = generate(*loaded->model, bound.weights, bound.lora, request);
      size_t differ = 0;
      for (size_t r = 0; r < rows.size(); r++) {
        differ += rows[r].ids != first[r].ids || rows[r].logprob != first[r].logprob;
      }
      CHECK(differ == 0);
    }
    const auto [mean, most] = distance(*loaded->model, bound, request, first);
    CHECK(mean < 1e-2);
    CHECK(most < 0.1);
  }
}

}  // namespace

// A launch that overlaps with one that it reads from shows here: now and then some rows say something else.
TEST_CASE(
    "gpu rollouts: one seed says the same every time, as far from the trainer as bf16 is" *
    on_gpu) {
  const auto qwen3 = model(
      R"({"model_type": "qwen3", "vocab_size": 4096, "hidden_size": 1024, "intermediate_size": 3072,
  "num_hidden_layers": 6, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
  "max_position_embeddings": 1024, "tie_word_embeddings": true, "initializer_range": 0.02})");
  // Most products with a rank of 8 are cuBLAS's, as those of many rows without an adapter.
  for (int rank : {0, 8, 16}) {
    check_rollouts(qwen3, rank);
  }
  // MLX's operations between the kernels: a bias behind q, k and v.
  const auto qwen2 = model(
      R"({"model_type": "qwen2", "vocab_size": 4096, "hidden_size": 896, "intermediate_size": 4864,
  "num_hidden_layers": 4, "num_attention_heads": 14, "num_key_value_heads": 2,
  "max_position_embeddings": 1024, "tie_word_embeddings": true, "initializer_range": 0.02})");
  for (int rank : {0, 16}) {
    check_rollouts(qwen2, rank);
  }
}
