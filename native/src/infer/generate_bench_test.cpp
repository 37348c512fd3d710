// Not a test: figures. Run with: native-tests -tc="bench*" --no-skip
#include "infer/generate.h"
#include "models/load.h"
#include "nn/lora.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <ctime>

using namespace atelier;

namespace {

// The shape of the bundled model.
const char* config =
    R"({"model_type": "qwen3", "vocab_size": 512, "hidden_size": 160, "intermediate_size": 448,
  "num_hidden_layers": 5, "num_attention_heads": 5, "num_key_value_heads": 5, "head_dim": 32,
  "max_position_embeddings": 512, "tie_word_embeddings": true, "initializer_range": 0.05})";

Params random_lora(const Model& model, int rank) {
  LoraSites sites;
  Params params;
  for (const LinearModule& m : model.linears()) {
    sites.emplace(m.name, LoraSite{rank, 2.0f});
    params.emplace(lora_a(m.name), mx::random::normal({rank, m.in}) * mx::array(0.05f));
    params.emplace(lora_b(m.name), mx::random::normal({m.out, rank}) * mx::array(0.05f));
  }
  Params out = stack_lora(model.linears(), sites, params, {}, mx::float32);
  for (auto& [name, value] : out) {
    mx::eval(value);
  }
  return out;
}

void measure(
    const char* what,
    const LoadedModel& m,
    const Params& lora,
    int prompts,
    int samples,
    int tokens) {
  GenerateRequest r;
  for (int i = 0; i < prompts; i++) {
    r.prompts.emplace_back(12 + i % 8, 3 + i);
  }
  r.samples_per_prompt = samples;
  r.max_new_tokens = tokens;
  // The processor's time of all threads too: on a machine with other work it says more than the clock.
  double best = 1e9, work = 1e9;
  for (int i = 0; i < 6; i++) {
    const auto from = std::chrono::steady_clock::now();
    const std::clock_t used = std::clock();
    generate(*m.model, m.weights, lora, r);
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count());
    work = std::min(work, double(std::clock() - used) / CLOCKS_PER_SEC);
  }
  std::printf(
      "%-28s %3d rows x %d tokens: %7.1f ms, %6.2f ms a step, %8.0f tokens/s; processor %6.2f ms a "
      "step\n",
      what,
      prompts * samples,
      tokens,
      best * 1e3,
      best * 1e3 / tokens,
      prompts * samples * tokens / best,
      work * 1e3 / tokens);
}

}  // namespace

TEST_CASE("bench: generation on a small model" * doctest::skip()) {
  const LoadedModel m = init_model(config, 1, mx::float32);
  const Params lora = random_lora(*m.model, 16);
  measure("base", m, {}, 8, 8, 40);
  measure("LoRA r16, all linear", m, lora, 8, 8, 40);
  measure("LoRA r16, one row", m, lora, 1, 1, 40);
}
