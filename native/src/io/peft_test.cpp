#include "io/peft.h"

#include "core/error.h"
#include "io/json.h"
#include "io/safetensors.h"
#include "testing/fixtures.h"
#include "testing/temp_dir.h"

#include <doctest/doctest.h>

#include <set>

using namespace atelier;
using namespace atelier::testing;

namespace {

std::vector<LinearModule> modules() {
  std::vector<LinearModule> out;
  for (int i = 0; i < 12; i++) {
    for (const char* part : {"self_attn.q_proj", "self_attn.v_proj", "mlp.down_proj"}) {
      const std::string name = "model.layers." + std::to_string(i) + "." + part;
      out.push_back({name, name, 8, 8, 0});
    }
  }
  return out;
}

std::set<std::string> names(const LoraConfig& config) {
  std::set<std::string> out;
  for (const auto& [name, site] : lora_sites(config, modules())) {
    out.insert(name.substr(13));  // without "model.layers."
  }
  return out;
}

ErrorCode code_of(const LoraConfig& config) {
  try {
    lora_sites(config, modules());
  } catch (const Error& e) {
    return e.code;
  }
  return ErrorCode::internal;
}

using List = std::vector<std::string>;

}  // namespace

TEST_CASE("targets are chosen as PEFT chooses them") {
  CHECK(names({.target_modules = List{"q_proj", "nothing"}}).size() == 12);
  CHECK(names({.target_modules = "all-linear"}).size() == 36);
  CHECK(names({.target_modules = "All-Linear"}).size() == 36);
  CHECK(
      names({.target_modules = R"(.*\.1\.(self_attn\.q|mlp\.down)_proj)"}) ==
      std::set<std::string>{"1.self_attn.q_proj", "1.mlp.down_proj"});
  CHECK(
      names({.target_modules = List{"1.self_attn.q_proj"}}) ==
      std::set<std::string>{"1.self_attn.q_proj"});
  CHECK(
      names({.target_modules = List{"q_proj"}, .layers_to_transform = std::vector<int>{1, 10}}) ==
      std::set<std::string>{"1.self_attn.q_proj", "10.self_attn.q_proj"});
  CHECK(
      names({.target_modules = List{"q_proj"}, .layers_to_transform = std::vector<int>{}}).size() ==
      12);
  CHECK(code_of({.target_modules = List{"proj"}}) == ErrorCode::invalid_argument);
  CHECK(
      code_of({.target_modules = "q_proj"}) ==
      ErrorCode::invalid_argument);  // a regex for the whole name
  CHECK(code_of({.target_modules = "(("}) == ErrorCode::invalid_argument);
  CHECK(code_of({.target_modules = List{"q_proj", "lm_head"}}) == ErrorCode::unsupported_model);
  CHECK(code_of({.target_modules = ".*"}) == ErrorCode::unsupported_model);
  CHECK(code_of({.alpha = 1e300, .target_modules = List{"q_proj"}}) == ErrorCode::invalid_argument);
  CHECK(code_of({.rank = 0, .target_modules = List{"q_proj"}}) == ErrorCode::invalid_argument);
}

TEST_CASE("rank, alpha and scale by pattern: the first key that matches the end of the name") {
  const LoraSites sites = lora_sites(
      {.rank = 4,
       .alpha = 8,
       .target_modules = List{"q_proj", "down_proj"},
       .rank_pattern =
           {{R"(layers\.1\.mlp\.down_proj)", 3},
            {"q_proj", 2},
            {R"(layers\.2\.self_attn\.q_proj)", 16}},
       .alpha_pattern = {{"down_proj", 6}}},
      modules());
  auto site = [&](const char* name) { return sites.at(std::string("model.layers.") + name); };
  CHECK(site("1.mlp.down_proj").rank == 3);
  CHECK(site("1.mlp.down_proj").scale == 2.0f);
  CHECK(site("11.mlp.down_proj").rank == 4);  // "layers.1." does not match layer 11
  CHECK(site("11.mlp.down_proj").scale == 1.5f);
  CHECK(site("2.self_attn.q_proj").rank == 2);
  CHECK(site("2.self_attn.q_proj").scale == 4.0f);
  CHECK(
      lora_sites(
          {.rank = 16, .alpha = 8, .target_modules = List{"q_proj"}, .rslora = true}, modules())
          .begin()
          ->second.scale == 2.0f);
}

TEST_CASE("a pattern that names no adapted module is an error where patterns must match") {
  auto made = [](const char* ranks, const char* alphas, bool must) {
    return LoraConfig{
        .rank = 4,
        .alpha = 8,
        .target_modules = List{"q_proj"},
        .rank_pattern = {{ranks, 2}},
        .alpha_pattern = {{alphas, 2}},
        .patterns_must_match = must};
  };
  CHECK(lora_sites(made("q_proj", "q_proj", true), modules()).begin()->second.rank == 2);
  for (const LoraConfig& config :
       {made("q_prj", "q_proj", true), made("q_proj", "down_proj", true)}) {
    CHECK(code_of(config) == ErrorCode::invalid_argument);
  }
  CHECK(lora_sites(made("q_prj", "down_proj", false), modules()).begin()->second.rank == 4);
}

TEST_CASE("an adapter saved is the file that PEFT wrote, byte for byte") {
  const std::string dir = fixture("lora/qwen3_tied/one_layer");
  const std::vector<LinearModule> m = {
      {"model.layers.1.self_attn.q_proj", "", 64, 128, 0},
      {"model.layers.1.mlp.down_proj", "", 128, 64, 0}};
  const Adapter adapter = load_adapter(dir, m, {512, 64});
  CHECK(adapter.params.size() == 4);
  const TempDir out;
  save_adapter(adapter.params, m, out.path("a.safetensors"));
  CHECK(read_bytes(out.path("a.safetensors")) == read_bytes(dir + "/adapter_model.safetensors"));
}

TEST_CASE("an adapter of a model that sees pictures adapts its text model") {
  const std::string from = fixture("lora/qwen3_tied/one_layer");
  const std::vector<LinearModule> modules = {
      {"model.layers.1.self_attn.q_proj", "", 64, 128, 0},
      {"model.layers.1.mlp.down_proj", "", 128, 64, 0}};
  const Adapter plain = load_adapter(from, modules, {512, 64});
  Json config = Json::parse(read_bytes(from + "/adapter_config.json"));
  config["layers_to_transform"] = nullptr;
  for (const std::string at : {"model.language_model.", "language_model.model."}) {
    CAPTURE(at);
    // By suffixes, and as tools that keep the vision tower out write them.
    for (const Json& targets :
         {Json::array({"q_proj", "down_proj"}), Json(".*language_model.*\\.(q_proj|down_proj)")}) {
      Params moved;
      for (const auto& [name, value] :
           load_safetensors(from + "/adapter_model.safetensors", std::nullopt)) {
        const std::string before = "base_model.model.";
        REQUIRE(name.starts_with(before + "model."));
        moved.emplace(before + at + name.substr(before.size() + 6), value);
      }
      const TempDir dir;
      config["target_modules"] = targets;
      dir.write("adapter_config.json", config.dump());
      save_safetensors(dir.path("adapter_model.safetensors"), moved);
      const Adapter adapter = load_adapter(dir.path(), modules, {512, 64});
      REQUIRE(adapter.params.size() == plain.params.size());
      for (const auto& [name, value] : plain.params) {
        CHECK(mx::array_equal(adapter.params.at(name), value).item<bool>());
      }
      CHECK(adapter.sites.size() == plain.sites.size());
    }
  }
}

TEST_CASE("an adapter's feature that is not run, and tensors that do not fit, are errors") {
  const std::string from = fixture("lora/qwen3_tied/one_layer");
  const std::vector<LinearModule> m = {
      {"model.layers.1.self_attn.q_proj", "", 64, 128, 0},
      {"model.layers.1.mlp.down_proj", "", 128, 64, 0}};
  const TempDir dir;
  const Params good = load_safetensors(from + "/adapter_model.safetensors", std::nullopt);
  const Json config = Json::parse(read_bytes(from + "/adapter_config.json"));
  auto code = [&](const char* key, const Json& value, const Params& tensors) {
    Json json = config;
    json[key] = value;
    dir.write("adapter_config.json", json.dump());
    save_safetensors(dir.path("adapter_model.safetensors"), tensors);
    try {
      load_adapter(dir.path(), m, {512, 64});
    } catch (const Error& e) {
      return e.code;
    }
    return ErrorCode::internal;
  };
  CHECK(code("r", 4, good) == ErrorCode::internal);
  const auto unsupported = ErrorCode::unsupported_model, invalid = ErrorCode::invalid_file;
  CHECK(code("use_dora", true, good) == invalid);  // the tensors have no lengths
  CHECK(code("modules_to_save", {"lm_head"}, good) == invalid);
  CHECK(code("modules_to_save", {"norm"}, good) == unsupported);
  Params with_head = good;
  with_head.emplace("base_model.model.lm_head.weight", mx::ones({512, 64}));
  CHECK(code("modules_to_save", {"lm_head"}, with_head) == ErrorCode::internal);
  with_head.insert_or_assign("base_model.model.lm_head.weight", mx::ones({512, 32}));
  CHECK(code("modules_to_save", {"lm_head"}, with_head) == invalid);
  CHECK(code("bias", "lora_only", good) == unsupported);
  CHECK(code("lora_bias", true, good) == unsupported);
  CHECK(code("fan_in_fan_out", true, good) == unsupported);
  CHECK(code("target_parameters", {"x"}, good) == unsupported);
  CHECK(code("exclude_modules", {"x"}, good) == unsupported);
  CHECK(code("layer_replication", {{0, 1}}, good) == unsupported);
  CHECK(code("init_lora_weights", "pissa", good) == unsupported);
  CHECK(code("some_new_feature", 3, good) == unsupported);
  CHECK(code("peft_type", "IA3", good) == unsupported);
  CHECK(code("r", "4", good) == invalid);
  CHECK(code("r", 4.5, good) == invalid);
  CHECK(code("rank_pattern", {{"q_proj", 4.5}}, good) == invalid);
  CHECK(code("layers_to_transform", {1.5}, good) == invalid);
  CHECK(code("r", 8, good) == invalid);  // tensors of rank 4
  Params diverged = good;
  diverged.begin()->second = diverged.begin()->second * mx::array(INFINITY);
  CHECK(code("r", 4, diverged) == invalid);
  Params whole = good;
  whole.begin()->second = mx::astype(whole.begin()->second, mx::int8);
  CHECK(code("r", 4, whole) == unsupported);
  Params missing = good, extra = good;
  missing.erase(missing.begin());
  extra.emplace("base_model.model.model.layers.0.mlp.down_proj.lora_A.weight", mx::ones({4, 128}));
  CHECK(code("r", 4, missing) == invalid);
  CHECK(code("r", 4, extra) == invalid);
}
