// Against transformers 5.24.0 and peft 0.21.2 (conformance/fixtures/README.md has tolerances).
#include "io/peft.h"
#include "io/safetensors.h"
#include "models/bound.h"
#include "models/registry.h"
#include "testing/fixtures.h"
#include "testing/temp_dir.h"

#include <doctest/doctest.h>

#include <filesystem>

using namespace atelier;
using namespace atelier::testing;

namespace {

const std::string known[] = {
    "qwen3_tied",
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
    "llama_linear",
    "qwen3_5",
    "qwen3_5_moe",
    "qwen3_next",
    "bailing_moe_v3"};

// With linear attention the order of its sums alone moves values further.
bool recurrent(const std::string& name) {
  return name.starts_with("qwen3_5") || name == "qwen3_next" || name == "bailing_moe_v3";
}
double tolerance(const std::string& name) {
  return recurrent(name) ? 1e-3 : 1e-4;
}

// Of these, what the folder at hand has: a whole set from elsewhere lacks the models that were made for this one.
std::vector<std::string> there() {
  std::vector<std::string> out;
  for (const std::string& name : known) {
    if (std::filesystem::exists(fixture("models/" + name))) {
      out.push_back(name);
    }
  }
  REQUIRE(!out.empty());
  return out;
}

struct Loaded {
  LoadedModel model;
  Params io;

  explicit Loaded(const std::string& name)
      : model(load_model(fixture("models/" + name), mx::float32)),
        io(load_safetensors(fixture("models/" + name + "/io.safetensors"), std::nullopt)) {}

  mx::array ids(const std::string& key) const {
    return mx::astype(io.at(key), mx::int32);
  }
  mx::array logits(const mx::array& ids, KvCache* cache = nullptr, const Params& lora = {}) const {
    return model.model->logits(model.weights, model.model->hidden(model.weights, lora, ids, cache));
  }
  KvCache cache(std::vector<int32_t> start) const {
    return {model.model->config().layers, std::move(start)};
  }
  /** Rows padded on the left go through a cache that knows where each row begins. */
  KvCache left_cache() const {
    mx::array pads = mx::sum(mx::equal(io.at("left.attention_mask"), mx::array(0, mx::int64)), 1);
    mx::eval(pads);
    return cache({pads.data<int32_t>(), pads.data<int32_t>() + pads.size()});
  }
};

// Token pairs that count: both this and the next one are real.
mx::array pairs(const mx::array& mask) {
  const int B = mask.shape(0), L = mask.shape(1);
  return mx::slice(mask, {0, 0}, {B, L - 1}) * mx::slice(mask, {0, 1}, {B, L});
}

}  // namespace

TEST_CASE("logits, log-probabilities, entropy and hidden states are transformers'") {
  for (const std::string& name : there()) {
    CAPTURE(name);
    const Loaded m(name);
    const double atol = tolerance(name);
    const mx::array ids = m.ids("nopad.input_ids");
    const mx::array logits = m.logits(ids);
    CHECK(excess(logits, m.io.at("nopad.logits"), atol, 1e-4) <= 1);
    CHECK(excess(token_logprobs(logits, ids), m.io.at("nopad.logprobs"), atol, 1e-4) <= 1);
    const mx::array logp = logits - mx::logsumexp(logits, -1, true);
    CHECK(excess(-mx::sum(mx::exp(logp) * logp, -1), m.io.at("nopad.entropy"), atol, 1e-4) <= 1);

    const Model& model = *m.model.model;
    Model::Pass pass = model.begin(ids, nullptr, std::nullopt);
    std::vector<mx::array> routers;
    pass.router_logits = &routers;
    std::vector<mx::array> states{model.embed(m.model.weights, ids)};
    for (int i = 0; i < model.config().layers; i++) {
      states.push_back(model.layer(i, m.model.weights, {}, states.back(), pass));
    }
    states.back() = model.final_norm(m.model.weights, states.back());
    CHECK(excess(mx::stack(states), m.io.at("nopad.hidden_states"), atol, 1e-4) <= 1);
    if (const auto expected = m.io.find("nopad.router_logits"); expected != m.io.end()) {
      CHECK(excess(mx::stack(routers), expected->second, atol, 1e-4) <= 1);
    } else if (!recurrent(name)) {
      CHECK(routers.empty());
    }
  }
}

TEST_CASE("padding on either side and long rows give transformers' values") {
  for (const std::string& name : there()) {
    CAPTURE(name);
    const Loaded m(name);
    const double atol = tolerance(name);
    const mx::array right = m.ids("right.input_ids");
    CHECK(
        excess(
            token_logprobs(m.logits(right), right),
            m.io.at("right.logprobs"),
            atol,
            1e-4,
            pairs(m.io.at("right.attention_mask"))) <= 1);

    KvCache cache = m.left_cache();
    const mx::array left = m.ids("left.input_ids");
    const mx::array logits = m.logits(left, &cache);
    const mx::array mask = m.io.at("left.attention_mask");
    CHECK(excess(logits, m.io.at("left.logits"), atol, 1e-4, mx::expand_dims(mask, 2)) <= 1);
    CHECK(
        excess(token_logprobs(logits, left), m.io.at("left.logprobs"), atol, 1e-4, pairs(mask)) <=
        1);

    const mx::array all = m.ids("long.input_ids");
    const mx::array at_all = m.logits(all);
    CHECK(excess(token_logprobs(at_all, all), m.io.at("long.logprobs"), atol, 1e-4) <= 1);
    const int N = all.shape(1), V = at_all.shape(2);
    CHECK(
        excess(
            mx::slice(at_all, {0, N - 2, 0}, {1, N, V}), m.io.at("long.last_logits"), atol, 1e-4) <=
        1);
  }
}

TEST_CASE("prefill equals decoding token by token with the cache") {
  for (const std::string& name : there()) {
    CAPTURE(name);
    const Loaded m(name);
    const double atol = tolerance(name);
    // Left padding: rows of different length in one cache; 96 tokens: the cache grows once.
    for (const char* key : {"left", "long"}) {
      const mx::array ids = m.ids(std::string(key) + ".input_ids");
      const int B = ids.shape(0), L = ids.shape(1);
      const bool left = std::string(key) == "left";
      KvCache whole = left ? m.left_cache() : m.cache(std::vector<int32_t>(B));
      KvCache steps = whole;
      const mx::array expected = m.logits(ids, &whole);
      std::vector<mx::array> got{m.logits(mx::slice(ids, {0, 0}, {B, 3}), &steps)};
      for (int t = 3; t < L; t++) {
        got.push_back(m.logits(mx::slice(ids, {0, t}, {B, t + 1}), &steps));
      }
      std::optional<mx::array> mask;
      if (left) {
        mask = mx::expand_dims(m.io.at("left.attention_mask"), 2);
      }
      CHECK(excess(mx::concatenate(got, 1), expected, atol, 1e-4, mask) <= 1);
    }
  }
}

TEST_CASE("config.json of both forms, and as it is written again, gives the same model") {
  for (const std::string& name : there()) {
    CAPTURE(name);
    const Loaded m(name);
    const mx::array ids = m.ids("long.input_ids");
    const mx::array expected = m.logits(ids);
    for (const std::string file :
         {"config.json",
          name.starts_with("qwen3_5") ? "config_text_only.json" : "config_legacy.json"}) {
      const auto model = make_model(fixture_json("models/" + name + "/" + file).dump(), file);
      const auto again = make_model(config_json(model->config(), "float32"), "written");
      for (const auto& other : {model, again}) {
        const mx::array logits =
            other->logits(m.model.weights, other->hidden(m.model.weights, {}, ids));
        CHECK(mx::array_equal(logits, expected).item<bool>());
      }
    }
  }
}

TEST_CASE("LoRA beside the base and merged gives PEFT's logits") {
  const std::string adapters[] = {
      "qwen3_tied/all",
      "qwen3_tied/qv",
      "qwen3_tied/regex",
      "qwen3_tied/dora",
      "qwen3_tied/one_layer",
      "qwen3_tied/patterns",
      "qwen3_tied/rslora",
      "llama3_rope/all",
      "llama3_rope/qv",
      "llama3_rope/rslora",
      "qwen3_moe/qv",
      "qwen3_moe/rslora",
      "qwen3_moe/all",
      "qwen3_moe/all_per_expert"};
  for (const std::string& name : adapters) {
    CAPTURE(name);
    const Loaded m(name.substr(0, name.find('/')));
    const std::vector<LinearModule> modules = m.model.model->linears();
    const ModelConfig& config = m.model.model->config();
    const Adapter adapter =
        load_adapter(fixture("lora/" + name), modules, {config.vocabulary, config.hidden});
    const Params lora = bind_adapter(m.model, adapter, adapter.params).lora;
    const Params io = load_safetensors(fixture("lora/" + name + "/io.safetensors"), std::nullopt);
    const mx::array ids = m.ids("nopad.input_ids");
    CHECK(excess(m.logits(ids, nullptr, lora), io.at("nopad.logits"), 2e-4, 1e-4) <= 1);
    KvCache cache = m.left_cache();
    const mx::array left = m.ids("left.input_ids");
    CHECK(
        excess(
            token_logprobs(m.logits(left, &cache, lora), left),
            io.at("left.logprobs"),
            2e-4,
            1e-4,
            pairs(m.io.at("left.attention_mask"))) <= 1);

    // stack_lora's products have the shapes of the weights that they are added to.
    Params stacked = m.model.weights;
    for (auto& [product, w] : stacked) {
      const std::string name = product.substr(0, product.rfind('.'));
      if (lora.count(name + ".A")) {
        w = w + mx::matmul(lora.at(name + ".B"), lora.at(name + ".A"));
      }
      if (lora.count(name + ".gain")) {
        w = w * mx::expand_dims(lora.at(name + ".gain"), 1);
      }
    }
    const Params merged = m.model.model->unstack(stacked);
    for (const auto& [key, expected] : io) {
      if (key.starts_with("merged.model.")) {
        CHECK(excess(merged.at(key.substr(7)), expected, 2e-4, 0) <= 1);
      }
    }
    const mx::array logits = m.model.model->logits(
        m.model.weights, m.model.model->hidden(m.model.model->stack(merged), {}, ids));
    const TempDir out;
    save_adapter(adapter.params, modules, out.path("a.safetensors"));
    CHECK(
        read_bytes(out.path("a.safetensors")) ==
        read_bytes(fixture("lora/" + name + "/adapter_model.safetensors")));
    const int B = ids.shape(0), L = ids.shape(1), V = logits.shape(2);
    CHECK(
        excess(
            mx::slice(logits, {0, L - 3, 0}, {B, L, V}),
            io.at("merged.nopad.last_logits"),
            2e-4,
            1e-4) <= 1);
  }
}
