#include "kernels/gpu/reuse.h"
#include "kernels/from_host.h"
#include "models/load.h"
#include "testing/on_gpu.h"
#include "train/lora_init.h"
#include "train/step.h"

#include <doctest/doctest.h>
#include <mlx/linalg.h>

#include <algorithm>
#include <numeric>

using namespace atelier;
using namespace atelier::testing;

namespace {

const char* nll = R"({"version": 1, "inputs": [
    {"name": "loss", "shape": "T", "kind": "mask", "from": "data"},
    {"name": "logp", "shape": "T", "kind": "number", "from": "engine"}],
  "nodes": [{"op": "input", "name": "loss"}, {"op": "input", "name": "logp"}, {"op": "const", "value": 0},
    {"op": "where", "args": [0, 1, 2]}, {"op": "neg", "args": [3]}, {"op": "total", "args": [0]}],
  "loss": [{"name": "nll", "value": 4, "over": 5}], "metrics": []})";

Trainable trainable() {
  auto loaded = std::make_shared<LoadedModel>(init_model(
      R"({"model_type": "qwen3", "vocab_size": 32768, "hidden_size": 512, "intermediate_size": 1536,
  "num_hidden_layers": 6, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 64,
  "max_position_embeddings": 1024, "tie_word_embeddings": true, "initializer_range": 0.02})",
      1,
      mx::bfloat16));
  LoraConfig config;
  config.rank = 16;
  config.target_modules = "all-linear";
  auto adapter = std::make_shared<Adapter>(init_adapter(config, *loaded, 1));
  for (auto& [name, value] : adapter->params) {
    if (name.ends_with("lora_B.weight")) {
      value = mx::random::normal(value.shape(), mx::float32, 0.0f, 0.02f, mx::random::key(7));
    }
  }
  return Trainable::of_adapter(loaded, adapter);
}

// Rows of several lengths in several micro-batches, padded.
StepRequest request() {
  StepRequest made;
  for (int r = 0; r < 48; r++) {
    const int length = 200 + r * 5;
    for (int t = 0; t < length; t++) {
      made.rows.ids.push_back((r * 7919 + t * 104729) % 32768);
    }
    made.rows.lengths.push_back(length);
  }
  made.program = nll;
  made.inputs = {{"loss", std::vector<float>(made.rows.ids.size() - 48, 1.0f)}};
  made.micro_tokens = 4096;
  return made;
}

}  // namespace

TEST_CASE("gpu steps: memory that is given on before it is free changes no gradient" * on_gpu) {
  const Trainable what = trainable();
  const StepRequest step = request();
  const std::atomic<bool> never{false};
  auto made = [&] {
    Objective objective(step.program, step.rows.targets(), {}, {}, {}, step.inputs);
    return gradients(what, objective, step, std::nullopt, never);
  };
  const Gradients kept = made();
  // cuDNN adds up the gradients by queries in any order: two runs differ by bf16's rounding.
  auto distance = [&](const Gradients& other) {
    double most = 0;
    for (size_t i = 0; i < kept.by_master.size(); i++) {
      const auto norm = [](const mx::array& a) { return mx::linalg::norm(a).item<float>(); };
      most = std::max<double>(
          most, norm(other.by_master[i] - kept.by_master[i]) / norm(kept.by_master[i]));
    }
    return most;
  };
  mx::reset_peak_memory();
  const double by_itself = distance(made());
  const size_t peak = mx::get_peak_memory();
  mx::reset_peak_memory();
  for (int again = 0; again < 10; again++) {
    const ReuseInOrder in_order;
    const Gradients given = made();
    CHECK(given.loss == kept.loss);
    CAPTURE(by_itself);
    CHECK(distance(given) < 0.01);
  }
  CHECK(by_itself < 0.01);
  CHECK(mx::get_peak_memory() < peak);
}

TEST_CASE("from_host: all numbers arrive, in their order") {
  for (int n : {1, 63, 8192, 100000}) {
    std::vector<int32_t> ids(n);
    std::iota(ids.begin(), ids.end(), 5);
    const std::vector<float> floats(ids.begin(), ids.end());
    const mx::array got = from_host(ids, {n}), numbers = from_host(floats, {1, n});
    CHECK(mx::array_equal(got + mx::array(0), mx::arange(5, 5 + n, mx::int32)).item<bool>());
    CHECK(
        mx::array_equal(numbers, mx::reshape(mx::arange(5, 5 + n, mx::float32), {1, n}))
            .item<bool>());
  }
}
