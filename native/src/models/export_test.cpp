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
  for (const std::string name : {"qwen3_tied/all", "llama3_rope/all"}) {
    CAPTURE(name);
    const Trained t(name);
    const MergedCheckpoint merged(t.base, t.adapter);
    const TempDir dir;
    for (const std::string type : {"F32", "F16", "Q8_0"}) {
      CAPTURE(type);
      const std::string file = dir.path(type + ".gguf");
      export_gguf(
          merged, file, type, {{"tokenizer.ggml.model", GgufEntry::Type::text, 0, "gpt2"}}, go_on);
      if (type == "F32" && name == "qwen3_tied/all") {
        CHECK(excess(logits_of(file, t.ids), t.logits, 2e-4, 1e-4) <= 1);
      }
      const GgufHeader header = read_gguf_header(file);
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

TEST_CASE("GGUF of the llama family, whose rows are in another order, is read back as it was") {
  for (const std::string name : {"smollm2", "qwen3_untied"}) {
    CAPTURE(name);
    const std::string base = fixture("models/" + name);
    const TempDir dir;
    export_gguf(MergedCheckpoint(base, std::nullopt), dir.path("m.gguf"), "F32", {}, go_on);
    const LoadedModel a = load_model(base, mx::float32),
                      b = load_model(dir.path("m.gguf"), mx::float32);
    for (const auto& [tensor, value] : a.weights) {
      CHECK(mx::array_equal(value, b.weights.at(tensor)).item<bool>());
    }
  }
}
