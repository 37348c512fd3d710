// A quantised model against the same numbers in floats.
#include "core/error.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "models/load.h"
#include "testing/fixtures.h"
#include "testing/temp_dir.h"

#include <doctest/doctest.h>

#include <filesystem>

using namespace atelier;
using namespace atelier::testing;

namespace {

mx::array ids_of(const std::string& name) {
  return mx::astype(
      load_safetensors(fixture("models/" + name + "/io.safetensors"), std::nullopt)
          .at("nopad.input_ids"),
      mx::int32);
}

mx::array logits(const LoadedModel& m, const mx::array& ids) {
  return m.model->logits(m.weights, m.model->hidden(m.weights, {}, ids));
}

LoadedModel quantised_model(const std::string& path, const Quantise& how) {
  const auto checkpoint = open_checkpoint(path);
  return load_model(*checkpoint, forms_of(*checkpoint, how), mx::float32);
}

/** The same model with each quantised matrix as the floats that it stands for. */
LoadedModel twin(const LoadedModel& m) {
  LoadedModel out{m.model, {}, m.dtype};
  for (const auto& [name, value] : m.weights) {
    if (name.ends_with(".scales") || name.ends_with(".biases")) {
      continue;
    }
    const std::string module = name.substr(0, name.size() - 7);
    auto scales = m.weights.find(module + ".scales");
    if (scales == m.weights.end()) {
      out.weights.emplace(name, value);
      continue;
    }
    int in = m.model->config().hidden;
    for (const LinearModule& linear : m.model->linears()) {
      if (module == linear.product || module.starts_with(linear.product + ".")) {
        in = linear.in;
      }
    }
    out.weights.emplace(name, weight_of(m.weights, module, in).dense(0, value.shape(0)));
  }
  return out;
}

/** Writes a model in mlx-lm's form. */
void save_mlx(
    const LoadedModel& m,
    const std::string& from,
    const std::string& to,
    const Json& how) {
  Json config = parse_json(read_text(from + "/config.json", 1'000'000), "config", 16);
  config["quantization"] = how;
  config["quantization_config"] = how;
  write_atomically(to + "/config.json", [&](const Append& append) {
    const std::string text = config.dump();
    append(text.data(), text.size());
  });
  save_safetensors(to + "/model.safetensors", m.model->unstack(m.weights));
}

std::string refusal(const std::string& path) {
  try {
    open_checkpoint(path);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a quantised model computes what its dequantised twin does, for all bits") {
  for (const char* name : {"qwen3_tied", "qwen3_untied", "llama3_rope"}) {
    for (const int bits : {2, 3, 4, 5, 6, 8}) {
      CAPTURE(name);
      CAPTURE(bits);
      const LoadedModel m = quantised_model(fixture(std::string("models/") + name), {bits, 32});
      CHECK(is_quantised(m));
      const mx::array ids = ids_of(name);
      CHECK(excess(logits(m, ids), logits(twin(m), ids), 1e-4, 1e-4) <= 1);
    }
  }
}

TEST_CASE(
    "mlx-lm's folder is read back to the same numbers, modules of other forms and floats "
    "included") {
  const std::string from = fixture("models/qwen3_tied");
  LoadedModel m = quantised_model(from, {4, 32});
  Params tensors = m.model->unstack(m.weights);
  auto replace = [&](const std::string& module, std::optional<Quantisation> form) {
    const mx::array floats = open_checkpoint(from)->read(module + ".weight", mx::float32);
    for (const char* kind : {".weight", ".scales", ".biases"}) {
      tensors.erase(module + kind);
    }
    if (form) {
      tensors.merge(quantised(module, floats, *form));
    } else {
      tensors.emplace(module + ".weight", floats);
    }
  };
  replace("model.layers.0.self_attn.v_proj", Quantisation{8, 64});
  replace("model.layers.1.mlp.down_proj", std::nullopt);
  m.weights = m.model->stack(tensors);
  Json how{{"group_size", 32}, {"bits", 4}, {"mode", "affine"}};
  how["model.layers.0.self_attn.v_proj"] = {{"group_size", 64}, {"bits", 8}};
  how["model.layers.1.mlp.down_proj"] = false;
  const TempDir dir;
  save_mlx(m, from, dir.path(), how);
  const LoadedModel back = load_model(dir.path(), mx::float32);
  const mx::array ids = ids_of("qwen3_tied");
  CHECK(mx::array_equal(logits(back, ids), logits(m, ids)).item<bool>());
  CHECK(excess(logits(back, ids), logits(twin(back), ids), 1e-4, 1e-4) <= 1);
  const auto checkpoint = open_checkpoint(dir.path());
  CHECK(commonest(checkpoint->quantised()) == Quantisation{4, 32});
  uint64_t kept = 0;
  for (const auto& [name, value] : back.weights) {
    kept += value.nbytes();
  }
  CHECK(loaded_bytes(*checkpoint, checkpoint->quantised(), mx::float32) == kept);
}

TEST_CASE("quantised folders that lie are refused by name") {
  const std::string from = fixture("models/qwen3_tied");
  const LoadedModel m = quantised_model(from, {4, 32});
  auto with = [&](const Json& how) {
    const TempDir dir;
    save_mlx(m, from, dir.path(), how);
    return refusal(dir.path());
  };
  auto says = [](const std::string& message, const std::string& part) {
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  };
  says(with({{"group_size", 64}, {"bits", 4}}), "does not have the shapes");
  says(with({{"group_size", 32}, {"bits", 8}}), "does not have the shapes");
  says(with({{"group_size", 32}, {"bits", 4}, {"mode", "mxfp4"}}), "mxfp4");
  says(with({{"group_size", 32}, {"bits", 7}}), "7 bits");
  says(with({{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 128}}), "gptq");
  says(with({{"bits", 4}}), "group_size");
  says(with({{"load_in_4bit", true}}), "load_in_4bit");
  says(with({{"group_size", 32}, {"bits", 4}, {"model.embed_tokens", false}}), "not quantised");
  says(with(nullptr), "dtype U32 is not supported");
}

TEST_CASE("quantising on load is refused where it cannot be exact about what it does") {
  const std::string from = fixture("models/qwen3_tied");
  CHECK_THROWS_AS(quantised_model(from, {7, std::nullopt}), Error);
  CHECK_THROWS_AS(quantised_model(from, {4, 48}), Error);
  CHECK_THROWS_AS(quantised_model(from, {4, 128}), Error);
  CHECK_THROWS_AS(quantised_model(fixture("models/qwen3_moe"), {4, std::nullopt}), Error);
  const TempDir dir;
  save_mlx(quantised_model(from, {4, 32}), from, dir.path(), {{"group_size", 32}, {"bits", 4}});
  CHECK_THROWS_AS(quantised_model(dir.path(), {8, std::nullopt}), Error);
}
