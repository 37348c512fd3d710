// Models with linear attention: their state beside the cache, what their checkpoints hold besides, their adapters.
#include "core/error.h"
#include "infer/generate.h"
#include "infer/row_memory.h"
#include "io/peft.h"
#include "io/safetensors.h"
#include "kernels/primitive.h"
#include "models/checkpoint.h"
#include "models/load.h"
#include "models/registry.h"
#include "nn/lora.h"
#include "testing/fixtures.h"
#include "testing/temp_dir.h"
#include "train/lora_init.h"

#include <doctest/doctest.h>

#include <filesystem>

using namespace atelier;
using namespace atelier::testing;

namespace {

const std::string names[] = {"qwen3_5", "qwen3_5_moe", "qwen3_next", "bailing_moe_v3"};

LoadedModel loaded(const std::string& name) {
  return load_model(fixture("models/" + name), mx::float32);
}

mx::array fixture_ids(const std::string& name, const std::string& key) {
  const Params io = load_safetensors(fixture("models/" + name + "/io.safetensors"), std::nullopt);
  return mx::astype(io.at(key), mx::int32);
}

mx::array logits(
    const LoadedModel& m,
    const mx::array& ids,
    KvCache* cache = nullptr,
    const Params& lora = {}) {
  return m.model->logits(m.weights, m.model->hidden(m.weights, lora, ids, cache));
}

// An adapter on every linear module, B too drawn at random.
Params some_lora(const LoadedModel& m) {
  LoraConfig config;
  config.rank = 4;
  config.target_modules = "all-linear";
  Adapter adapter = init_adapter(config, m, 5);
  int seed = 0;
  for (auto& [name, value] : adapter.params) {
    value = mx::random::normal(value.shape(), mx::float32, 0, 0.05f, mx::random::key(seed++));
  }
  return stack_lora(m.model->linears(), adapter.sites, adapter.params, m.weights, mx::float32);
}

GenerateRequest sampled(const LoadedModel& m) {
  GenerateRequest r;
  r.prompts = {{1, 2, 3, 4, 5, 6, 7}, {9}, {10, 11, 12}};
  r.samples_per_prompt = 5;
  r.max_new_tokens = 12;
  r.seed = 3;
  for (int id = 0; id < m.model->config().vocabulary; id += 11) {
    r.stop_ids.push_back(id);
  }
  return r;
}

void copy_model(const std::string& name, const TempDir& dir) {
  for (const char* file : {"config.json", "model.safetensors"}) {
    std::filesystem::copy_file(fixture("models/" + name + "/" + file), dir.path(file));
  }
}

void check_refused(const std::string& config, const std::string& why) {
  try {
    make_model(config, "config.json");
    FAIL("not refused: " << why);
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find(why) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("linear attention: plain ops and adapters too decode what a prefill computes") {
  for (const std::string& name : names) {
    CAPTURE(name);
    const LoadedModel m = loaded(name);
    const Params adapter = some_lora(m);
    const mx::array ids = fixture_ids(name, "long.input_ids");
    const int L = ids.shape(1);
    for (const bool kernels : {true, false}) {
      use_kernels(kernels);
      for (const Params& lora : {Params{}, adapter}) {
        const mx::array expected = logits(m, ids, nullptr, lora);
        // In pieces that end within a chunk of the recurrence, on its edge, and token by token.
        KvCache cache(m.model->config().layers, {0});
        std::vector<mx::array> got;
        for (int from = 0; from < L;) {
          const int to = from == 0 ? 33 : from == 33 ? 64 : from + 1;
          got.push_back(logits(m, mx::slice(ids, {0, from}, {1, to}), &cache, lora));
          from = to;
        }
        CHECK(excess(mx::concatenate(got, 1), expected, 1e-3, 1e-3) <= 1);
      }
    }
    use_kernels(true);
  }
}

TEST_CASE("linear attention: rows say in a batch, which shrinks and grows, what they say alone") {
  for (const std::string& name : names) {
    CAPTURE(name);
    const LoadedModel m = loaded(name);
    GenerateRequest all = sampled(m);
    all.max_rows = 7;
    const std::vector<GeneratedRow> together = generate(*m.model, m.weights, {}, all);
    for (size_t i = 0; i < together.size(); i++) {
      GenerateRequest one = sampled(m);
      one.prompts = {all.prompts[together[i].prompt]};
      one.samples_per_prompt = 1;
      one.rollout_ids = {static_cast<uint32_t>(i)};
      const GeneratedRow alone = generate(*m.model, m.weights, {}, one)[0];
      CHECK(alone.ids == together[i].ids);
      for (size_t t = 0; t < std::min(alone.logprob.size(), together[i].logprob.size()); t++) {
        CHECK(std::abs(alone.logprob[t] - together[i].logprob[t]) < 1e-3);
      }
    }
  }
}

TEST_CASE("linear attention: what a row is said to need covers what its cache holds") {
  for (const std::string& name : names) {
    CAPTURE(name);
    const LoadedModel m = loaded(name);
    KvCache cache(m.model->config().layers, {0});
    mx::eval(logits(m, fixture_ids(name, "long.input_ids"), &cache));
    uint64_t held = 0;
    for (const mx::array& a : cache.arrays()) {
      held += a.nbytes();
    }
    CHECK(decode_row_bytes(*m.model, cache.length, mx::float32) >= held);
  }
}

TEST_CASE("a saved model has its checkpoint's names and numbers") {
  for (const std::string& name : names) {
    CAPTURE(name);
    const TempDir dir;
    save_model(loaded(name), dir.path(), mx::bfloat16);
    const Params before =
        load_safetensors(fixture("models/" + name + "/model.safetensors"), std::nullopt);
    const Params after = load_safetensors(dir.path("model.safetensors"), std::nullopt);
    CHECK(after.size() == before.size());
    for (const auto& [key, value] : before) {
      REQUIRE(after.count(key));
      CHECK(mx::array_equal(value, after.at(key)).item<bool>());
    }
    CHECK(open_checkpoint(dir.path())->left_out().empty());
  }
}

TEST_CASE("a vision tower and layers for multi-token prediction are left out, and said") {
  const TempDir dir;
  copy_model("qwen3_5", dir);
  const Params plain = load_safetensors(dir.path("model.safetensors"), std::nullopt);
  Params more = plain;
  more.emplace("model.visual.patch_embed.proj.weight", mx::ones({2, 2}));
  more.emplace("mtp.fc.weight", mx::ones({3, 2}));
  save_safetensors(dir.path("model.safetensors"), more);
  Json config = fixture_json("models/qwen3_5/config.json");
  config["vision_config"] = {{"depth", 2}};
  config["image_token_id"] = 7;
  config["text_config"]["mtp_num_hidden_layers"] = 1;
  dir.write("config.json", config.dump());

  const LoadedModel m = load_model(dir.path(), mx::float32);
  const std::vector<std::string> left_out = open_checkpoint(dir.path())->left_out();
  REQUIRE(left_out.size() == 2);
  CHECK(left_out[0] == "layers for multi-token prediction (mtp.*)");
  CHECK(left_out[1] == "the vision tower: text only (model.visual.*)");
  const mx::array ids = fixture_ids("qwen3_5", "nopad.input_ids");
  CHECK(mx::array_equal(logits(m, ids), logits(loaded("qwen3_5"), ids)).item<bool>());

  // What is saved is the model that is run.
  const TempDir saved;
  save_model(m, saved.path(), mx::bfloat16);
  CHECK(load_safetensors(saved.path("model.safetensors"), std::nullopt).size() == plain.size());
  const Json written = Json::parse(config_json(m.model->config(), "bfloat16"));
  CHECK(!written.contains("vision_config"));
  CHECK(written.at("text_config").at("mtp_num_hidden_layers") == 0);

  // In a model without them such tensors are as unknown as any.
  more.emplace("model.visuals.x", mx::ones({1}));
  save_safetensors(dir.path("model.safetensors"), more);
  CHECK_THROWS_AS(open_checkpoint(dir.path()), Error);
}

TEST_CASE("linear attention: features that are not run are refused by name") {
  Json bailing = fixture_json("models/bailing_moe_v3/config_legacy.json");
  bailing["num_hidden_layers"] = 4;
  check_refused(bailing.dump(), "a last group of layers that is not full");
  bailing["num_hidden_layers"] = 3;
  bailing["no_kda_lora"] = false;
  check_refused(bailing.dump(), "no_kda_lora");
  bailing = fixture_json("models/bailing_moe_v3/config.json");
  bailing["rope_parameters"]["rope_type"] = "yarn";
  check_refused(bailing.dump(), "rope_type");
  bailing = fixture_json("models/bailing_moe_v3/config.json");
  bailing["topk_group"] = 5;
  check_refused(bailing.dump(), "do not fit together");
  Json qwen = fixture_json("models/qwen3_5/config.json");
  qwen["text_config"]["layer_types"][0] = "sliding_attention";
  check_refused(qwen.dump(), "sliding_attention");
  qwen = fixture_json("models/qwen3_5/config.json");
  qwen["text_config"]["new_feature"] = 1;
  check_refused(qwen.dump(), "new_feature");
  qwen = fixture_json("models/qwen3_5/config.json");
  qwen["text_config"]["rope_parameters"]["partial_rotary_factor"] = 0.1;
  check_refused(qwen.dump(), "partial_rotary_factor");
  qwen = fixture_json("models/qwen3_5/config.json");
  qwen["text_config"]["linear_num_key_heads"] = 3;
  check_refused(qwen.dump(), "no multiple");

  const LoadedModel m = loaded("qwen3_next");
  const mx::array ids = mx::array({1, 2, 3, 4}, {1, 4});
  const mx::array mask = mx::reshape(mx::tri(4, 4, 0, mx::bool_), {1, 1, 4, 4});
  CHECK_THROWS_AS(m.model->hidden(m.weights, {}, ids, nullptr, mask), Error);
}
