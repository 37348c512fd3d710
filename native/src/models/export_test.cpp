// What leaves the engine: read back, it computes what the adapter beside its base does.
#include "core/error.h"
#include "io/file.h"
#include "io/ggml_blocks.h"
#include "io/safetensors.h"
#include "models/bound.h"
#include "models/export_folder.h"
#include "models/export_gguf.h"
#include "testing/fixtures.h"
#include "testing/temp_dir.h"

#include <doctest/doctest.h>

#include <filesystem>

using namespace atelier;
using namespace atelier::testing;

namespace {

const std::atomic<bool> go_on = false;

struct Trained {
  std::string base, adapter;
  LoadedModel model;
  mx::array ids;
  mx::array logits;

  explicit Trained(const std::string& name, std::string folder = "")
      : base(fixture("models/" + name.substr(0, name.find('/')))),
        adapter(folder.empty() ? fixture("lora/" + name) : folder),
        model(load_model(base, mx::float32)),
        ids(mx::astype(
            load_safetensors(base + "/io.safetensors", std::nullopt).at("nopad.input_ids"),
            mx::int32)),
        logits(forward(loaded())) {}

  Adapter loaded() const {
    const ModelConfig& c = model.model->config();
    return load_adapter(adapter, model.model->linears(), {c.vocabulary, c.hidden});
  }
  mx::array forward(const Adapter& a) const {
    const Bound bound = bind_adapter(model, a, a.params);
    return model.model->logits(bound.weights, model.model->hidden(bound.weights, bound.lora, ids));
  }
};

mx::array logits_of(const std::string& path, const mx::array& ids) {
  const LoadedModel m = load_model(path, mx::float32);
  return m.model->logits(m.weights, m.model->hidden(m.weights, {}, ids));
}

/** The adapter `from` with modules that are saved whole, moved a little. */
std::string
with_saved(const TempDir& dir, const std::string& from, bool head, bool embedding, bool tie) {
  Json config = parse_json(read_text(from + "/adapter_config.json", 1'000'000), "config", 16);
  Params tensors = load_safetensors(from + "/adapter_model.safetensors", std::nullopt);
  config["modules_to_save"] = Json::array();
  config["ensure_weight_tying"] = tie;
  auto add = [&](const char* name, const char* file_name, uint64_t seed) {
    config["modules_to_save"].push_back(name);
    tensors.emplace(
        std::string("base_model.model.") + file_name + ".weight",
        mx::random::normal({512, 64}, mx::float32, 0, 0.1f, mx::random::key(seed)));
  };
  if (head) {
    add("lm_head", "lm_head", 1);
  }
  if (embedding) {
    add("embed_tokens", "model.embed_tokens", 2);
  }
  dir.write("adapter_config.json", config.dump());
  save_safetensors(dir.path("adapter_model.safetensors"), tensors);
  return dir.path();
}

}  // namespace

TEST_CASE("a merged folder computes what base and adapter do, in one file or many") {
  for (const std::string name :
       {"qwen3_tied/all",
        "qwen3_tied/dora",
        "qwen3_tied/patterns",
        "llama3_rope/rslora",
        "qwen3_moe/all",
        "qwen3_moe/all_per_expert"}) {
    CAPTURE(name);
    const Trained t(name);
    for (const uint64_t shard : {shard_bytes, uint64_t{100'000}}) {
      const TempDir dir;
      FolderForm form;
      form.shard = shard;
      export_folder(MergedCheckpoint(t.base, t.adapter), dir.path(), form, go_on);
      CHECK(
          std::filesystem::exists(dir.path("model.safetensors.index.json")) ==
          (shard != shard_bytes));
      CHECK(excess(logits_of(dir.path(), t.ids), t.logits, 2e-4, 1e-4) <= 1);
    }
  }
}

TEST_CASE("a tied head is exported as it was trained") {
  struct Case {
    bool head, embedding, tie;
  };
  for (const auto& [head, embedding, tie] :
       {Case{true, false, false},
        Case{false, true, false},
        Case{true, true, false},
        Case{false, true, true}}) {
    CAPTURE(head);
    CAPTURE(embedding);
    CAPTURE(tie);
    const TempDir adapter, dir, file;
    const Trained t(
        "qwen3_tied/all",
        with_saved(adapter, fixture("lora/qwen3_tied/all"), head, embedding, tie));
    const MergedCheckpoint merged(t.base, t.adapter);
    CHECK(merged.tied() == tie);
    export_folder(merged, dir.path(), {}, go_on);
    CHECK(excess(logits_of(dir.path(), t.ids), t.logits, 2e-4, 1e-4) <= 1);
    export_gguf(merged, file.path("m.gguf"), "F32", {}, go_on);
    CHECK(excess(logits_of(file.path("m.gguf"), t.ids), t.logits, 2e-4, 1e-4) <= 1);
  }
}

TEST_CASE("GGUF: f32 computes the same; f16 and q8_0 hold each number rounded") {
  for (const std::string name : {"qwen3_tied/all", "llama3_rope/all", "qwen3_moe/all"}) {
    CAPTURE(name);
    const Trained t(name);
    const MergedCheckpoint merged(t.base, t.adapter);
    const TempDir dir;
    for (const std::string type : {"F32", "F16", "Q8_0"}) {
      CAPTURE(type);
      const std::string file = dir.path(type + ".gguf");
      export_gguf(
          merged, file, type, {{"tokenizer.ggml.model", GgufEntry::Type::text, 0, "gpt2"}}, go_on);
      if (type == "F32" && name != "llama3_rope/all") {
        CHECK(excess(logits_of(file, t.ids), t.logits, 2e-4, 1e-4) <= 1);
      }
      const GgufHeader header = read_gguf_header(file);
      if (name == "qwen3_moe/all") {
        CHECK(header.tensors.at("blk.1.ffn_down_exps.weight").type == type);
        CHECK(header.tensors.at("blk.1.ffn_gate_inp.weight").type == "F32");
        continue;
      }
      CHECK(std::get<std::string>(header.metadata.at("tokenizer.ggml.model").value) == "gpt2");
      const std::string matrix = "blk.1.ffn_down.weight";
      CHECK(header.tensors.at(matrix).type == type);
      CHECK(header.tensors.at("output_norm.weight").type == "F32");
      const mx::array exact = merged.read("model.layers.1.mlp.down_proj.weight");
      const std::vector<float> got = read_gguf_tensor(file, header.tensors.at(matrix));
      std::vector<float> expected(exact.data<float>(), exact.data<float>() + exact.size());
      if (type == "F16") {
        for (float& x : expected) {
          x = static_cast<float>(mx::float16_t(x));
        }
      } else if (type == "Q8_0") {
        std::vector<uint8_t> blocks(expected.size() / 32 * 34);
        write_q8_0(expected.data(), expected.size() / 32, blocks.data());
        read_q8_0(blocks.data(), expected.size() / 32, expected.data());
      }
      CHECK(got == expected);
    }
  }
}

TEST_CASE("mlx-lm's form holds the merged matrices quantised") {
  const Trained t("qwen3_tied/all");
  const MergedCheckpoint merged(t.base, t.adapter);
  const TempDir dir;
  export_folder(merged, dir.path(), {mx::bfloat16, Quantise{4, std::nullopt}, "mlx"}, go_on);
  const auto back = open_checkpoint(dir.path());
  CHECK(commonest(back->quantised()) == Quantisation{4, 64});
  CHECK(back->quantised().count("model.embed_tokens"));
  const Params expected = quantised(
      "m", mx::astype(merged.read("model.layers.1.mlp.up_proj.weight"), mx::bfloat16), {4, 64});
  const Params got = back->read_quantised("model.layers.1.mlp.up_proj", mx::bfloat16);
  for (const char* kind : {".weight", ".scales", ".biases"}) {
    CHECK(
        mx::array_equal(
            got.at(std::string("model.layers.1.mlp.up_proj") + kind),
            expected.at(std::string("m") + kind))
            .item<bool>());
  }
  // It is a base like any other: merged again, from its dequantised numbers.
  const TempDir again;
  export_folder(MergedCheckpoint(dir.path(), std::nullopt), again.path(), {}, go_on);
  CHECK(excess(logits_of(again.path(), t.ids), logits_of(dir.path(), t.ids), 1e-4, 1e-4) <= 1);
}

TEST_CASE("an export that is called off, or has no GGUF, leaves nothing") {
  const Trained t("qwen3_tied/qv");
  const TempDir dir;
  const std::atomic<bool> stopped = true;
  const MergedCheckpoint merged(t.base, t.adapter);
  CHECK_THROWS_AS(export_folder(merged, dir.path(), {}, stopped), Error);
  CHECK_THROWS_AS(export_gguf(merged, dir.path("m.gguf"), "F16", {}, stopped), Error);
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE(
    "each family's GGUF, whose rows and norms may stand in another form, is read back as it was") {
  // Gemma 3 with what llama.cpp takes for granted of it.
  const std::string gemma3 =
      R"({"model_type": "gemma3_text", "vocab_size": 64, "hidden_size": 32, "intermediate_size": 48,
          "num_hidden_layers": 7, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16,
          "query_pre_attn_scalar": 16, "sliding_window": 3, "max_position_embeddings": 64,
          "rope_scaling": {"rope_type": "linear", "factor": 8.0}, "rope_theta": 1000000.0,
          "initializer_range": 0.2})";
  const std::string smollm3 =
      R"({"model_type": "smollm3", "vocab_size": 64, "hidden_size": 32, "intermediate_size": 48,
          "num_hidden_layers": 5, "num_attention_heads": 2, "num_key_value_heads": 1,
          "max_position_embeddings": 64, "rope_theta": 2000000.0, "initializer_range": 0.2})";
  const std::string mistral =
      R"({"model_type": "mistral", "vocab_size": 64, "hidden_size": 32, "intermediate_size": 48,
          "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
          "sliding_window": null, "max_position_embeddings": 64, "initializer_range": 0.2})";
  const TempDir made;
  std::vector<std::string> bases;
  for (const char* name : {"smollm2", "qwen3_untied", "qwen2", "qwen3_moe", "llama_linear"}) {
    bases.push_back(fixture(std::string("models/") + name));
  }
  for (const std::string& config : {gemma3, smollm3, mistral}) {
    bases.push_back(made.path("base" + std::to_string(bases.size())));
    std::filesystem::create_directories(bases.back());
    save_model(init_model(config, 1, mx::float32), bases.back(), mx::float32);
  }
  for (const std::string& base : bases) {
    const LoadedModel a = load_model(base, mx::float32);
    CAPTURE(a.model->config().family);
    const TempDir dir;
    export_gguf(MergedCheckpoint(base, std::nullopt), dir.path("m.gguf"), "F32", {}, go_on);
    const LoadedModel b = load_model(dir.path("m.gguf"), mx::float32);
    for (const auto& [tensor, value] : a.weights) {
      // 1 + w - 1 of a norm is rounded.
      CHECK(excess(b.weights.at(tensor), value, 1e-7, 0) <= 1);
    }
    const mx::array ids = mx::array({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {1, 10});
    CHECK(
        excess(
            b.model->hidden(b.weights, {}, ids), a.model->hidden(a.weights, {}, ids), 1e-5, 1e-5) <=
        1);
  }
}

TEST_CASE(
    "GGUF: what llama.cpp takes for granted of a family and a model has otherwise is refused by "
    "name") {
  auto refusal = [](const std::string& base) -> std::string {
    const TempDir dir;
    try {
      export_gguf(MergedCheckpoint(base, std::nullopt), dir.path("m.gguf"), "F16", {}, go_on);
    } catch (const Error& e) {
      CHECK(e.code == ErrorCode::unsupported_model);
      CHECK(std::filesystem::is_empty(dir.path()));
      return e.what();
    }
    return "";
  };
  const std::pair<const char*, const char*> cases[] = {
      {"gemma3_text", "every sixth"},
      {"qwen3_moe_nonorm", "norm_topk_prob"},
      {"llama_yarn", "'yarn'"},
      {"mistral", "sliding window"},
      {"smollm3", "every fourth"},
      {"qwen3_5", "family 'qwen3_5'"},
      {"bailing_moe_v3", "family 'bailing_hybrid'"}};
  for (const auto& [name, what] : cases) {
    CAPTURE(name);
    CHECK(refusal(fixture(std::string("models/") + name)).find(what) != std::string::npos);
  }
}
