// Not a test: figures. Run with: native-tests -tc="bench*" --no-skip
#include "infer/generate.h"
#include "models/load.h"
#include "train/lora_init.h"
#include "train/score.h"
#include "train/step.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>

using namespace atelier;

namespace {

const char* nll = R"({"version": 1, "inputs": [
    {"name": "loss", "shape": "T", "kind": "mask", "from": "data"},
    {"name": "logp", "shape": "T", "kind": "number", "from": "engine"}],
  "nodes": [{"op": "input", "name": "loss"}, {"op": "input", "name": "logp"}, {"op": "const", "value": 0},
    {"op": "where", "args": [0, 1, 2]}, {"op": "neg", "args": [3]}, {"op": "total", "args": [0]}],
  "loss": [{"name": "nll", "value": 4, "over": 5}],
  "metrics": [{"name": "train/nll", "reduce": "mean", "value": 4, "weight": 0}]})";

std::shared_ptr<LoadedModel> qwen3_06b() {
  return std::make_shared<LoadedModel>(init_model(
      R"({"model_type": "qwen3", "vocab_size": 151936, "hidden_size": 1024, "intermediate_size": 3072,
  "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
  "max_position_embeddings": 4096, "tie_word_embeddings": true, "initializer_range": 0.02})",
      1,
      mx::bfloat16));
}

std::shared_ptr<Adapter> adapter_of(const LoadedModel& model) {
  LoraConfig config;
  config.rank = 16;
  config.alpha = 32;
  config.target_modules = "all-linear";
  return std::make_shared<Adapter>(init_adapter(config, model, 1));
}

}  // namespace

TEST_CASE("bench: LoRA step on a GPU, the shape of Qwen3-0.6B" * doctest::skip()) {
  auto loaded = qwen3_06b();
  Optimizer optimizer(Trainable::of_adapter(loaded, adapter_of(*loaded)), OptimizerSpec{});
  for (auto [rows, length] : {std::pair{8, 1025}, {256, 385}}) {
    StepRequest request;
    for (int r = 0; r < rows; r++) {
      for (int t = 0; t < length; t++) {
        request.rows.ids.push_back((r * 7919 + t * 104729) % 151936);
      }
      request.rows.lengths.push_back(length);
    }
    request.program = nll;
    request.inputs = {{"loss", std::vector<float>(rows * (length - 1), 1.0f)}};
    request.learning_rate = 1e-4;
    request.max_grad_norm = 1.0;
    const std::atomic<bool> never{false};
    auto timed = [&](const char* what, auto f) {
      double best = 1e9;
      for (int i = 0; i < 4; i++) {
        mx::reset_peak_memory();
        const auto from = std::chrono::steady_clock::now();
        f();
        best = std::min(
            best, std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count());
      }
      std::printf(
          "%-10s %3d x %4d: %7.1f ms, %8.0f tokens/s, peak %.2f GB\n",
          what,
          rows,
          length - 1,
          best * 1e3,
          rows * (length - 1) / best,
          mx::get_peak_memory() / 1e9);
      std::fflush(stdout);
    };
    timed("LoRA step", [&] { train_step(optimizer, request, std::nullopt, never); });
    timed("score", [&] {
      score(
          *loaded->model,
          optimizer.trainable().bind(optimizer.trainable().arguments()),
          request.rows,
          {},
          std::nullopt,
          never);
    });
  }
}

TEST_CASE(
    "bench: a rollout and an update on a GPU, and how far the trainer's log p is from the "
    "sampler's" *
    doctest::skip()) {
  auto loaded = qwen3_06b();
  const std::atomic<bool> never{false};
  Optimizer optimizer(Trainable::of_adapter(loaded, adapter_of(*loaded)), OptimizerSpec{});
  auto seconds_of = [](auto&& work) {
    const auto from = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
  };
  for (int prompts : {32, 32, 8, 1}) {
    const Bound bound = optimizer.trainable().bind(optimizer.trainable().arguments());
    GenerateRequest request;
    for (int i = 0; i < prompts; i++) {
      request.prompts.emplace_back(128, 3 + i);
    }
    request.samples_per_prompt = 8;
    request.max_new_tokens = 256;
    const double tokens = 256.0 * 8 * prompts;
    std::vector<GeneratedRow> rows;
    const double rollout =
        seconds_of([&] { rows = generate(*loaded->model, bound.weights, bound.lora, request); });
    StepRequest step;
    for (const GeneratedRow& row : rows) {
      const auto& prompt = request.prompts[row.prompt];
      step.rows.ids.insert(step.rows.ids.end(), prompt.begin(), prompt.end());
      step.rows.ids.insert(step.rows.ids.end(), row.ids.begin(), row.ids.end());
      step.rows.lengths.push_back(static_cast<int32_t>(prompt.size() + row.ids.size()));
      step.inputs["loss"].insert(step.inputs["loss"].end(), 127, 0.0f);
      step.inputs["loss"].insert(step.inputs["loss"].end(), 256, 1.0f);
    }
    // The same weights in f32: the distance that bf16 alone makes.
    Bound exact = bound;
    for (Params* params : {&exact.weights, &exact.lora}) {
      for (auto& [name, array] : *params) {
        array = mx::astype(array, mx::float32);
      }
    }
    const Scores scores = score(*loaded->model, bound, step.rows, {}, std::nullopt, never);
    const Scores in_f32 = score(*loaded->model, exact, step.rows, {}, std::nullopt, never);
    double apart = 0, from_f32 = 0;
    for (size_t r = 0; r < rows.size(); r++) {
      for (int t = 0; t < 256; t++) {
        const float logp = scores.at("logp")[r * 383 + 127 + t];
        apart += std::abs(logp - rows[r].logprob[t]);
        from_f32 += std::abs(logp - in_f32.at("logp")[r * 383 + 127 + t]);
      }
    }
    step.program = nll;
    step.learning_rate = 1e-5;
    step.max_grad_norm = 1.0;
    mx::clear_cache();
    mx::reset_peak_memory();
    double update = 1e9;
    for (int i = 0; i < 2; i++) {
      update =
          std::min(update, seconds_of([&] { train_step(optimizer, step, std::nullopt, never); }));
    }
    std::printf(
        "%d x 8, 128 + 256 tokens: rollout %.3f s (%.0f tokens/s), update %.3f s (%.2f GB); mean "
        "|log p - log p|: "
        "trainer to sampler %.2e, trainer to f32 %.2e\n",
        prompts,
        rollout,
        tokens / rollout,
        update,
        mx::get_peak_memory() / 1e9,
        apart / tokens,
        from_f32 / tokens);
    std::fflush(stdout);
  }
}

// Twice: the first run writes the model, the second is a start.
TEST_CASE("bench: from a folder to the first rollout and update on a GPU" * doctest::skip()) {
  const auto dir = std::filesystem::temp_directory_path() / "atelier-bench-model";
  if (!std::filesystem::exists(dir / "model.safetensors")) {
    std::filesystem::create_directories(dir);
    save_model(*qwen3_06b(), dir.string(), mx::bfloat16);
    std::printf("the model is written: run once more\n");
    return;
  }
  auto last = std::chrono::steady_clock::now();
  auto since = [&](const char* what) {
    const auto now = std::chrono::steady_clock::now();
    std::printf("%s %.2f s\n", what, std::chrono::duration<double>(now - last).count());
    std::fflush(stdout);
    last = now;
  };
  auto loaded = std::make_shared<LoadedModel>(load_model(dir.string(), mx::bfloat16));
  since("load");
  const std::atomic<bool> never{false};
  Optimizer optimizer(Trainable::of_adapter(loaded, adapter_of(*loaded)), OptimizerSpec{});
  since("adapter and optimizer");
  for (const char* what : {"first", "second"}) {
    const Bound bound = optimizer.trainable().bind(optimizer.trainable().arguments());
    GenerateRequest request;
    for (int i = 0; i < 32; i++) {
      request.prompts.emplace_back(128, 3 + i);
    }
    request.samples_per_prompt = 8;
    request.max_new_tokens = 32;
    const auto rows = generate(*loaded->model, bound.weights, bound.lora, request);
    since((std::string(what) + " rollout of 32 x 8 x 32").c_str());
    StepRequest step;
    for (int r = 0; r < 256; r++) {
      step.rows.ids.insert(step.rows.ids.end(), 161, r);
      step.rows.lengths.push_back(161);
    }
    step.program = nll;
    step.inputs = {{"loss", std::vector<float>(256 * 160, 1.0f)}};
    train_step(optimizer, step, std::nullopt, never);
    since((std::string(what) + " update on 256 x 160").c_str());
  }
}
