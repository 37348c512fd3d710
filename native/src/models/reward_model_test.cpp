// Sequence classifiers with one label: which are recognised, and what is refused. Their scores are held against
// transformers' by conformance/items/reward-models.ts.
#include "core/error.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "models/bound.h"
#include "models/checkpoint.h"
#include "models/export_folder.h"
#include "models/export_gguf.h"
#include "models/registry.h"
#include "testing/fixtures.h"
#include "testing/temp_dir.h"
#include "train/score.h"

#include <doctest/doctest.h>

#include <functional>

using namespace atelier;
using namespace atelier::testing;

namespace {

const std::atomic<bool> go_on = false;
const std::string qwen3 = fixture("reward_models/qwen3");

Error refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e;
  }
  FAIL("nothing was refused");
  return Error(ErrorCode::internal, "");
}

bool says(const Error& e, const char* part) {
  CAPTURE(e.what());
  return std::string(e.what()).find(part) != std::string::npos;
}

/** The fixture's config.json with some keys changed; null takes one out. */
std::string changed(const Json& keys) {
  Json json = fixture_json("reward_models/qwen3/config.json");
  for (const auto& [key, value] : keys.items()) {
    if (value.is_null()) {
      json.erase(key);
    } else {
      json[key] = value;
    }
  }
  return json.dump();
}

std::vector<float> scores(const LoadedModel& m, const std::string& folder) {
  const Json io = fixture_json("reward_models/" + folder + "/io.json");
  Rows rows;
  for (const auto& row : io["rows"]) {
    rows.lengths.push_back(static_cast<int>(row.size()));
    rows.ids.insert(rows.ids.end(), row.begin(), row.end());
  }
  ScoreOptions options;
  options.wanted = {{"score"}};
  return score(*m.model, bind_model(m), rows, options, std::nullopt, go_on).at("score");
}

}  // namespace

TEST_CASE("a classifier with one label is a reward model") {
  const auto checkpoint = open_checkpoint(qwen3);
  CHECK(checkpoint->model()->config().scalar_head);
  CHECK(checkpoint->shapes().at("score.weight") == mx::Shape{1, 32});
  CHECK(!open_checkpoint(fixture("models/qwen3_tied"))->model()->config().scalar_head);
  // id2label counts, where it is there
  CHECK(make_model(changed({{"id2label", nullptr}, {"num_labels", 1}}), "c")->config().scalar_head);
}

TEST_CASE(
    "classifiers with other labels, or of families that are not run so, are refused by name") {
  auto refused = [](const Json& keys, const char* part) {
    const Error e = refusal([&] { make_model(changed(keys), "config.json"); });
    CHECK(e.code == ErrorCode::unsupported_model);
    CHECK(says(e, part));
  };
  refused({{"id2label", {{"0", "bad"}, {"1", "good"}}}}, "2 labels");
  refused({{"id2label", nullptr}}, "2 labels");
  refused({{"id2label", nullptr}, {"num_labels", 5}}, "5 labels");
  refused({{"architectures", {"Qwen3ForTokenClassification"}}}, "Qwen3ForTokenClassification");
  refused({{"architectures", {"LlamaForSequenceClassification"}}}, "architectures");
  refused(
      {{"architectures", {"MistralForSequenceClassification"}}, {"model_type", "mistral"}},
      "MistralForSequenceClassification");
}

TEST_CASE(
    "a checkpoint without its head is refused; a head over the vocabulary beside it is left out") {
  const TempDir dir;
  dir.write("config.json", changed({}));
  Params tensors = load_safetensors(qwen3 + "/model.safetensors", std::nullopt);
  tensors.emplace("lm_head.weight", mx::ones({448, 32}));
  save_safetensors(dir.path("model.safetensors"), tensors);
  CHECK(
      open_checkpoint(dir.path())->left_out() ==
      std::vector<std::string>{"a head over the vocabulary (lm_head.*)"});
  CHECK(scores(load_model(dir.path(), mx::float32), "qwen3").size() == 7);

  tensors.insert_or_assign("score.weight", mx::ones({2, 32}));
  save_safetensors(dir.path("model.safetensors"), tensors);
  CHECK(says(refusal([&] { open_checkpoint(dir.path()); }), "'score.weight' is [2, 32]"));
  tensors.erase("score.weight");
  save_safetensors(dir.path("model.safetensors"), tensors);
  const Error e = refusal([&] { open_checkpoint(dir.path()); });
  CHECK(e.code == ErrorCode::invalid_file);
  CHECK(says(e, "'score.weight' is missing"));
}

TEST_CASE("a reward model has no logits") {
  const LoadedModel m = load_model(qwen3, mx::float32);
  const Error e = refusal([&] { m.model->logits(m.weights, mx::zeros({1, 32})); });
  CHECK(e.code == ErrorCode::invalid_argument);
  CHECK(says(e, "reward model"));
}

TEST_CASE("saved and exported, it scores the same; forms that cannot hold it are refused") {
  const LoadedModel m = load_model(qwen3, mx::float32);
  const std::vector<float> before = scores(m, "qwen3");
  const TempDir saved, exported;
  save_model(m, saved.path(), mx::float32);
  CHECK(scores(load_model(saved.path(), mx::float32), "qwen3") == before);
  const MergedCheckpoint merged(qwen3, std::nullopt);
  export_folder(merged, exported.path(), {mx::float32}, go_on);
  CHECK(scores(load_model(exported.path(), mx::float32), "qwen3") == before);
  // its head is read in f32, whatever the weights are computed in
  CHECK(load_model(qwen3, mx::bfloat16).weights.at("score.weight").dtype() == mx::float32);

  FolderForm mlx{mx::bfloat16};
  mlx.format = "mlx";
  CHECK(says(refusal([&] { export_folder(merged, exported.path(), mlx, go_on); }), "mlx-lm"));
  CHECK(says(
      refusal([&] { export_gguf(merged, exported.path("m.gguf"), "F32", {}, go_on); }), "GGUF"));
}

TEST_CASE("an adapter with a head on a family without such a class is not merged") {
  const TempDir dir, to;
  const LoadedModel base = load_model(fixture("models/mistral"), mx::float32);
  dir.write(
      "adapter_config.json",
      R"({"peft_type": "LORA", "r": 1, "lora_alpha": 1, "target_modules": ["q_proj"], "layers_to_transform": [0],
          "modules_to_save": ["score"]})");
  const std::string q = "base_model.model.model.layers.0.self_attn.q_proj.";
  const mx::Shape shape = open_checkpoint(fixture("models/mistral"))
                              ->shapes()
                              .at("model.layers.0.self_attn.q_proj.weight");
  save_safetensors(
      dir.path("adapter_model.safetensors"),
      {{q + "lora_A.weight", mx::ones({1, shape[1]})},
       {q + "lora_B.weight", mx::ones({shape[0], 1})},
       {"base_model.model.score.weight", mx::ones({1, base.model->config().hidden})}});
  const MergedCheckpoint merged(fixture("models/mistral"), dir.path());
  const Error e = refusal([&] { export_folder(merged, to.path(), {mx::float32}, go_on); });
  CHECK(e.code == ErrorCode::unsupported_model);
  CHECK(says(e, "a reward model of the family 'mistral'"));
}
