// Not a test: figures. Run with: native-tests -tc="bench*" --no-skip
#include "infer/batch.h"
#include "infer/generate.h"
#include "infer/prefill.h"
#include "models/load.h"
#include "nn/lora.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <tuple>

using namespace atelier;

namespace {

// The shape of the bundled model.
const char* config =
    R"({"model_type": "qwen3", "vocab_size": 512, "hidden_size": 160, "intermediate_size": 448,
  "num_hidden_layers": 5, "num_attention_heads": 5, "num_key_value_heads": 5, "head_dim": 32,
  "max_position_embeddings": 512, "tie_word_embeddings": true, "initializer_range": 0.05})";

// As an engine gives it to many rows.
Params random_lora(const LoadedModel& loaded, int rank, mx::Dtype dtype = mx::float32) {
  const Model& model = *loaded.model;
  LoraSites sites;
  Params params;
  for (const LinearModule& m : model.linears()) {
    sites.emplace(m.name, LoraSite{rank, 2.0f});
    params.emplace(lora_a(m.name), mx::random::normal({rank, m.in}) * mx::array(0.05f));
    params.emplace(lora_b(m.name), mx::random::normal({m.out, rank}) * mx::array(0.05f));
  }
  Params out = stack_lora(model.linears(), sites, params, {}, dtype);
  join_lora(out, loaded.weights, 256, true);
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

double seconds_of(const std::function<mx::array()>& work) {
  double best = 1e9;
  for (int i = 0; i < 5; i++) {
    const auto from = std::chrono::steady_clock::now();
    mx::eval(work());
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count());
  }
  return best;
}

// Bytes a second that are read and written by adding 1 to 2 GiB; printed beside a large product's operations a second.
double bandwidth() {
  const mx::array x = mx::zeros({1 << 30}, mx::bfloat16),
                  a = mx::random::normal({8192, 8192}, mx::bfloat16);
  mx::eval(x, a);
  const double bytes = 2.0 * x.nbytes() / seconds_of([&] { return x + mx::array(1, x.dtype()); });
  const double product = seconds_of([&] { return mx::matmul(a, a); });
  std::printf(
      "probe: %.2f TB/s read and written, %.0f TFLOP/s (8192^3, bf16)\n",
      bytes / 1e12,
      2 * std::pow(8192.0, 3) / product / 1e12);
  return bytes;
}

// Decode steps alone: the difference between many new tokens and few.
void measure_steps(
    const char* what,
    const LoadedModel& m,
    const Params& lora,
    int prompts,
    int samples,
    int length,
    double bytes_a_second) {
  auto seconds = [&](int tokens) {
    GenerateRequest r;
    for (int i = 0; i < prompts; i++) {
      r.prompts.emplace_back(length, 3 + i);
    }
    r.samples_per_prompt = samples;
    r.max_new_tokens = tokens;
    const auto from = std::chrono::steady_clock::now();
    generate(*m.model, m.weights, lora, r);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  };
  constexpr int few = 8, many = 136;
  double best_few = 1e9, best_many = 1e9;
  for (int i = 0; i < 3; i++) {
    best_few = std::min(best_few, seconds(few));
    best_many = std::min(best_many, seconds(many));
  }
  const double step = (best_many - best_few) / (many - few);
  // Weights and every row's keys and values, read once.
  double bytes = 0;
  for (const auto& [name, value] : m.weights) {
    bytes += value.nbytes();
  }
  bytes +=
      2.0 * m.model->row_numbers().cached_token * prompts * samples * (length + (few + many) / 2.0);
  std::printf(
      "%-20s %3d rows, %4d + %d tokens: %7.3f ms a step, %8.0f tokens/s, %3.0f %% of the bound; "
      "whole "
      "%7.1f ms, %d tokens %6.1f ms\n",
      what,
      prompts * samples,
      length,
      many,
      step * 1e3,
      prompts * samples / step,
      100 * bytes / bytes_a_second / step,
      best_many * 1e3,
      few,
      best_few * 1e3);
  std::fflush(stdout);
}

LoadedModel qwen3_06b() {
  LoadedModel m = init_model(
      R"({"model_type": "qwen3", "vocab_size": 151936, "hidden_size": 1024, "intermediate_size": 3072,
  "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
  "max_position_embeddings": 4096, "tie_word_embeddings": true, "initializer_range": 0.02})",
      1,
      mx::bfloat16);
  for (auto& [name, value] : m.weights) {
    mx::eval(value);
  }
  return m;
}

TEST_CASE("bench: generation on a small model" * doctest::skip()) {
  const LoadedModel m = init_model(config, 1, mx::float32);
  const Params lora = random_lora(m, 16);
  measure("base", m, {}, 8, 8, 40);
  measure("LoRA r16, all linear", m, lora, 8, 8, 40);
  measure("LoRA r16, one row", m, lora, 1, 1, 40);
}

TEST_CASE("bench: decode on a GPU, the shape of Qwen3-0.6B" * doctest::skip()) {
  const LoadedModel m = qwen3_06b();
  const Params lora = random_lora(m, 16, mx::bfloat16);
  const double bytes = bandwidth();
  for (auto [prompts, samples] : {std::pair{1, 1}, {8, 8}, {32, 8}}) {
    measure_steps("base", m, {}, prompts, samples, 128, bytes);
    measure_steps("LoRA r16", m, lora, prompts, samples, 128, bytes);
  }
  measure_steps("base", m, {}, 32, 8, 512, bytes);
  std::printf("peak %.2f GB\n", mx::get_peak_memory() / 1e9);
}

// What the GPU alone takes: nobody reads what is drawn.
TEST_CASE("bench: steps of one batch on a GPU, the shape of Qwen3-0.6B" * doctest::skip()) {
  const LoadedModel m = qwen3_06b();
  const Params adapter = random_lora(m, 16, mx::bfloat16), none;
  const Sampling sampling;
  for (auto [prompts, samples, length] :
       {std::tuple{1, 1, 128}, {8, 8, 128}, {16, 8, 128}, {32, 8, 128}, {32, 8, 512}}) {
    for (const Params* lora : {&none, &adapter}) {
      constexpr int steps = 120;
      double best = 1e9;
      for (int again = 0; again < 3; again++) {
        std::vector<std::vector<int32_t>> ids;
        std::vector<int32_t> prompt_of;
        RowDraws draws;
        for (int i = 0; i < prompts * samples; i++) {
          if (i % samples == 0) {
            ids.emplace_back(length, 3 + i);
          }
          prompt_of.push_back(i / samples);
          draws.rollout.push_back(i);
          draws.drawn.push_back(0);
        }
        std::vector<const std::vector<int32_t>*> of;
        for (const auto& one : ids) {
          of.push_back(&one);
        }
        Prefilled ready = prefill(*m.model, m.weights, *lora, of);
        ready.cache.reserve = length + steps + 8;
        Batch batch(*m.model, m.weights, *lora, sampling, 1);
        batch.begin(
            take_rows(ready.cache, prompt_of), mx::zeros({prompts * samples}, mx::int32), draws);
        auto seconds = [&](int count) {
          const auto from = std::chrono::steady_clock::now();
          std::vector<mx::array> drawn;
          for (int i = 0; i < count; i++) {
            const Draw d = batch.step({});
            drawn = {d.token, d.logprob, d.raw_logprob};
            mx::async_eval(drawn);
          }
          mx::eval(drawn);
          return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
        };
        seconds(8);
        best = std::min(best, seconds(steps) / steps);
      }
      std::printf(
          "%-9s %3d rows of %2d prompts, %3d + %d tokens: %5.0f us a step, %7.0f tokens/s\n",
          lora == &none ? "base" : "LoRA r16",
          prompts * samples,
          prompts,
          length,
          steps,
          best * 1e6,
          prompts * samples / best);
      std::fflush(stdout);
    }
  }
}

// For a profiler: a few steps of one batch (ATELIER_ROWS), with an adapter.
TEST_CASE("bench: profile of decode steps" * doctest::skip()) {
  const LoadedModel m = qwen3_06b();
  const Params lora = random_lora(m, 16, mx::bfloat16);
  const char* rows = std::getenv("ATELIER_ROWS");
  GenerateRequest r;
  r.prompts.emplace_back(256, 3);
  r.samples_per_prompt = rows ? std::atoi(rows) : 64;
  r.max_new_tokens = 4;
  generate(*m.model, m.weights, lora, r);
}
