#include "models/load.h"

#include "core/error.h"
#include "io/gguf.h"
#include "io/safetensors.h"
#include "models/registry.h"
#include "testing/fixtures.h"
#include "testing/gguf_writer.h"
#include "testing/temp_dir.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace atelier;
using namespace atelier::testing;

namespace {

std::string floats(const mx::array& x) {
  mx::array flat = mx::contiguous(mx::astype(x, mx::float32));
  mx::eval(flat);
  return {reinterpret_cast<const char*>(flat.data<float>()), flat.nbytes()};
}

// As llama.cpp's converter stores rows of q and k of the llama family.
mx::array permuted(const mx::array& w, int heads) {
  const int rows = w.shape(0), in = w.shape(1);
  return mx::reshape(
      mx::transpose(mx::reshape(w, {heads, 2, rows / heads / 2, in}), {0, 2, 1, 3}), {rows, in});
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

GgufWriter as_gguf(const LoadedModel& m) {
  const std::string family = m.model->config().family;
  const Json c = Json::parse(m.model->config().json);
  const int heads = c["num_attention_heads"], kv_heads = c.value("num_key_value_heads", heads),
            head_dim = c.value("head_dim", int(c["hidden_size"]) / heads);
  GgufWriter w;
  const std::string architecture = family == "qwen3_moe"     ? "qwen3moe"
                                   : family == "gemma3_text" ? "gemma3"
                                                             : family;
  const std::string a = architecture + ".";
  w.text("general.architecture", architecture);
  w.u32(a + "embedding_length", c["hidden_size"]);
  w.u32(a + "feed_forward_length", c["intermediate_size"]);
  w.u32(a + "block_count", c["num_hidden_layers"]);
  w.u32(a + "attention.head_count", heads);
  w.u32(a + "attention.head_count_kv", kv_heads);
  w.u32(a + "attention.key_length", head_dim);
  w.u32(a + "attention.value_length", head_dim);
  w.u32(a + "context_length", c["max_position_embeddings"]);
  w.f32(a + "attention.layer_norm_rms_epsilon", c.value("rms_norm_eps", 1e-6f));
  if (family == "qwen3_moe") {
    w.u32(a + "expert_count", c.value("num_local_experts", 0));
    w.u32(a + "expert_used_count", c["num_experts_per_tok"]);
    w.u32(a + "expert_feed_forward_length", c["moe_intermediate_size"]);
  }
  if (family == "gemma3_text") {
    w.u32(a + "attention.sliding_window", c["sliding_window"]);
    w.text(a + "rope.scaling.type", "linear");
    w.f32(a + "rope.scaling.factor", c["rope_scaling"]["factor"]);
  }
  const Json rope = c.value("rope_parameters", Json::object());
  w.f32(a + "rope.freq_base", rope.value("rope_theta", c.value("rope_theta", 10000.0f)));
  const std::pair<const char*, const char*> renamed[] = {
      {"model.embed_tokens", "token_embd"},
      {"model.norm", "output_norm"},
      {"lm_head", "output"},
      {"model.layers.", "blk."},
      {"self_attn.q_proj", "attn_q"},
      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},
      {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"},
      {"self_attn.k_norm", "attn_k_norm"},
      {"mlp.gate_proj", "ffn_gate"},
      {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"},
      {"mlp.gate.", "ffn_gate_inp."},
      {"mlp.experts.gate_proj", "ffn_gate_exps"},
      {"mlp.experts.up_proj", "ffn_up_exps"},
      {"mlp.experts.down_proj", "ffn_down_exps"},
      {"input_layernorm", "attn_norm"},
      {"post_attention_layernorm", family == "gemma3_text" ? "post_attention_norm" : "ffn_norm"},
      {"pre_feedforward_layernorm", "ffn_norm"},
      {"post_feedforward_layernorm", "post_ffw_norm"}};
  Params tensors;
  std::map<std::string, std::vector<mx::array>> experts;
  for (const auto& [name, value] : m.model->unstack(m.weights)) {
    if (const size_t at = name.find("experts."); at != std::string::npos) {
      experts[name.substr(0, at + 8) + name.substr(name.find('.', at + 8) + 1)].push_back(value);
    } else {
      tensors.emplace(name, value);
    }
  }
  for (const auto& [name, parts] : experts) {
    tensors.emplace(name, mx::stack(parts));
  }
  for (const auto& [name, value] : tensors) {
    std::string to = name;
    for (const auto& [from, by] : renamed) {
      if (const size_t at = to.find(from); at != std::string::npos) {
        to.replace(at, std::string(from).size(), by);
      }
    }
    mx::array x = value;
    const bool turned = family == "llama" || family == "smollm3";
    if (family == "gemma3_text" && name.ends_with("norm.weight")) {
      x = x + mx::array(1.0f);
    } else if (turned && name.ends_with("q_proj.weight")) {
      x = permuted(x, heads);
    } else if (turned && name.ends_with("k_proj.weight")) {
      x = permuted(x, kv_heads);
    }
    w.tensor(to, std::vector<uint64_t>(x.shape().begin(), x.shape().end()), 0, floats(x));
  }
  return w;
}

void check_same_weights(const LoadedModel& a, const LoadedModel& b) {
  REQUIRE(a.weights.size() == b.weights.size());
  for (const auto& [name, value] : a.weights) {
    CAPTURE(name);
    CHECK(mx::array_equal(value, b.weights.at(name)).item<bool>());
  }
}

void check_same(const LoadedModel& a, const LoadedModel& b) {
  CHECK(config_json(a.model->config(), "") == config_json(b.model->config(), ""));
  check_same_weights(a, b);
}

Error refusal(const std::string& path) {
  try {
    load_model(path, mx::float32);
  } catch (const Error& e) {
    return e;
  }
  return {ErrorCode::internal, "accepted"};
}

}  // namespace

TEST_CASE("a model saved, and one turned into GGUF, loads as the same model") {
  for (const std::string name : {"qwen3_tied", "qwen3_untied", "smollm2", "llama3_rope"}) {
    CAPTURE(name);
    const TempDir dir;
    const LoadedModel m = load_model(fixture("models/" + name), mx::float32);
    save_model(m, dir.path(), mx::float32);
    check_same(m, load_model(dir.path(), mx::float32));
    if (name != "llama3_rope") {
      const GgufWriter w = as_gguf(m);
      const LoadedModel gguf = load_model(dir.write("m.gguf", w.bytes()), mx::float32);
      check_same_weights(m, gguf);
      const mx::array ids = mx::array({1, 2, 3, 4, 5}, {1, 5});
      CHECK(
          excess(
              gguf.model->hidden(gguf.weights, {}, ids),
              m.model->hidden(m.weights, {}, ids),
              1e-5,
              1e-5) <= 1);
      CHECK(
          config_json(open_checkpoint(dir.path("m.gguf"))->model()->config(), "") ==
          config_json(gguf.model->config(), ""));
    }
  }
}

TEST_CASE("a Gemma 3 that sees pictures is its text model, by either name of its tensors") {
  const std::string from = fixture("models/gemma3_text");
  const LoadedModel plain = load_model(from, mx::float32);
  Json text = Json::parse(read_bytes(from + "/config.json"));
  // What checkpoints leave out there: the class's own.
  text.erase("architectures");
  text.erase("tie_word_embeddings");
  text.erase("hidden_activation");
  const Json config = {
      {"architectures", {"Gemma3ForConditionalGeneration"}},
      {"boi_token_index", 255999},
      {"eos_token_id", {1, 106}},
      {"image_token_index", 262144},
      {"mm_tokens_per_image", 256},
      {"model_type", "gemma3"},
      {"text_config", text},
      {"vision_config", {{"model_type", "siglip_vision_model"}}}};
  const std::pair<std::string, std::string> layouts[] = {
      {"language_model.model.", ""}, {"model.language_model.", "model."}};
  for (const auto& [at, beside] : layouts) {
    CAPTURE(at);
    Params tensors{{beside + "vision_tower.x.weight", mx::zeros({2, 2})}};
    for (const auto& [name, value] : load_safetensors(from + "/model.safetensors", std::nullopt)) {
      tensors.emplace(at + name.substr(6), value);
    }
    const TempDir dir;
    dir.write("config.json", config.dump());
    save_safetensors(dir.path("model.safetensors"), tensors);
    const LoadedModel wrapped = load_model(dir.path(), mx::float32);
    check_same_weights(plain, wrapped);
    CHECK(wrapped.model->config().family == "gemma3_text");
    CHECK(open_checkpoint(dir.path())->left_out().size() == 1);
    const mx::array ids = mx::array({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {1, 10});
    CHECK(
        mx::array_equal(
            wrapped.model->hidden(wrapped.weights, {}, ids),
            plain.model->hidden(plain.weights, {}, ids))
            .item<bool>());
    // Saved, it is the text model alone.
    const TempDir again;
    save_model(wrapped, again.path(), mx::float32);
    const Json saved = Json::parse(read_bytes(again.path("config.json")));
    CHECK(saved["model_type"] == "gemma3_text");
    CHECK(saved["eos_token_id"] == Json({1, 106}));
    check_same_weights(plain, load_model(again.path(), mx::float32));
  }
}

TEST_CASE("each family's GGUF loads as the model that it was made from") {
  // Shapes of the conformance fixtures; Gemma 3 and SmolLM3 with what llama.cpp takes for granted of them.
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
  const LoadedModel models[] = {
      load_model(fixture("models/qwen2"), mx::float32),
      load_model(fixture("models/qwen3_moe"), mx::float32),
      init_model(gemma3, 1, mx::float32),
      init_model(smollm3, 1, mx::float32)};
  for (const LoadedModel& m : models) {
    CAPTURE(m.model->config().family);
    const TempDir dir;
    const LoadedModel gguf = load_model(dir.write("m.gguf", as_gguf(m).bytes()), mx::float32);
    CHECK(gguf.model->config().family == m.model->config().family);
    check_same_weights(m, gguf);
    const mx::array ids = mx::array({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {1, 10});
    CHECK(
        excess(
            gguf.model->hidden(gguf.weights, {}, ids),
            m.model->hidden(m.weights, {}, ids),
            1e-5,
            1e-5) <= 1);
  }
}

TEST_CASE("a GGUF's rope_freqs becomes llama3 scaling, or is refused") {
  const LoadedModel m = init_model(
      R"({"model_type": "llama", "vocab_size": 32, "hidden_size": 64, "intermediate_size": 32, "num_hidden_layers": 1,
          "num_attention_heads": 1, "head_dim": 64, "max_position_embeddings": 131072, "rope_theta": 500000.0})",
      1,
      mx::float32);
  // transformers' llama3 with factor 32 (Llama 3.2), original context 8192, factors 1 and 4.
  std::vector<float> divisors;
  for (int i = 0; i < 32; i++) {
    const double wavelength = 2 * M_PI * std::pow(500000.0, i / 32.0);
    const double smooth = std::min(1.0, std::max(0.0, (8192 / wavelength - 1) / 3));
    divisors.push_back(float(1 / ((1 - smooth) / 32 + smooth)));
  }
  const TempDir dir;
  GgufWriter w = as_gguf(m);
  w.tensor("rope_freqs.weight", {32}, 0, floats(mx::array(divisors.begin(), {32})));
  const LoadedModel read = load_model(dir.write("a.gguf", w.bytes()), mx::float32);
  const Json rope = Json::parse(read.model->config().json).at("rope_parameters");
  CHECK(rope.at("rope_type") == "llama3");
  CHECK(rope.at("factor") == 32);
  divisors[16] *= 1.5f;
  GgufWriter other = as_gguf(m);
  other.tensor("rope_freqs.weight", {32}, 0, floats(mx::array(divisors.begin(), {32})));
  CHECK(refusal(dir.write("b.gguf", other.bytes())).code == ErrorCode::unsupported_model);
}

TEST_CASE("random weights are a function of the seed") {
  const std::string config =
      config_json(load_model(fixture("models/qwen3_tied"), mx::float32).model->config(), "float32");
  const LoadedModel a = init_model(config, 3, mx::float32);
  check_same(a, init_model(config, 3, mx::float32));
  const mx::array w = a.weights.at("model.layers.0.self_attn.qkv_proj.weight");
  CHECK(!mx::array_equal(
             w,
             init_model(config, 4, mx::float32)
                 .weights.at("model.layers.0.self_attn.qkv_proj.weight"))
             .item<bool>());
  CHECK(!mx::array_equal(w, a.weights.at("model.layers.1.self_attn.qkv_proj.weight")).item<bool>());
  CHECK(mx::std(w).item<float>() == doctest::Approx(0.02).epsilon(0.05));
  CHECK(mx::array_equal(a.weights.at("model.norm.weight"), mx::ones({64})).item<bool>());
}

TEST_CASE("what a checkpoint has and the engine does not run is refused by name") {
  const std::string config = fixture_json("models/qwen3_tied/config.json").dump();
  auto code_of = [](const std::string& text, const std::string& part) {
    try {
      make_model(text, "config.json");
    } catch (const Error& e) {
      CAPTURE(e.what());
      CHECK(std::string(e.what()).find("config.json") == 0);
      CHECK(std::string(e.what()).find(part) != std::string::npos);
      return e.code;
    }
    return ErrorCode::internal;
  };
  auto changed = [&](const char* key, const Json& value) {
    Json json = Json::parse(config);
    json[key] = value;
    return json.dump();
  };
  const auto unsupported = ErrorCode::unsupported_model, invalid = ErrorCode::invalid_file;
  CHECK(code_of(changed("model_type", "gemma2"), "gemma2") == unsupported);
  CHECK(
      code_of(changed("architectures", {"Qwen3ForTokenClassification"}), "architectures") ==
      unsupported);
  CHECK(code_of(changed("use_sliding_window", true), "use_sliding_window") == unsupported);
  CHECK(
      code_of(
          changed("layer_types", {"full_attention", "sliding_attention"}), "sliding_attention") ==
      unsupported);
  CHECK(code_of(changed("attention_bias", true), "attention_bias") == unsupported);
  CHECK(code_of(changed("hidden_act", "gelu"), "hidden_act") == unsupported);
  CHECK(
      code_of(changed("quantization_config", {{"bits", 4}}), "quantization_config") == unsupported);
  for (const char* type : {"dynamic", "longrope", "proportional"}) {
    const Json rope = {{"rope_type", type}, {"rope_theta", 1e4}, {"factor", 2.0}};
    CHECK(code_of(changed("rope_parameters", rope), type) == unsupported);
  }
  CHECK(code_of(changed("rope_parameters", {{"rope_type", "yarn"}}), "factor") == invalid);
  for (const char* key :
       {"final_logit_softcapping",
        "attn_logit_softcapping",
        "logit_scale",
        "residual_multiplier",
        "embedding_multiplier",
        "a_feature_of_next_year"}) {
    CHECK(code_of(changed(key, 0.5), key) == unsupported);
    Json off = Json::parse(config);
    off[key] = nullptr;
    CHECK(make_model(off.dump(), "config.json"));
  }
  CHECK(code_of(changed("quantization", {{"bits", 4}}), "quantization") == unsupported);
  CHECK(
      code_of(changed("rope_parameters", {{"rope_theta", 1e4}, {"factor", 4}}), "factor") ==
      unsupported);
  for (const char* key : {"is_causal", "causal"}) {
    CHECK(code_of(changed(key, false), key) == unsupported);
    CHECK(make_model(changed(key, true), "config.json"));
  }
  for (const Json& scaling :
       {Json{{"type", "yarn"}, {"factor", 4.0}}, Json{{"rope_type", "dynamic"}, {"factor", 2.0}}}) {
    CHECK(code_of(changed("rope_scaling", scaling), "rope_scaling") == unsupported);
  }
  CHECK(code_of(changed("rms_norm_eps", 0), "rms_norm_eps") == invalid);
  CHECK(code_of(changed("pretraining_tp", 0), "pretraining_tp") == invalid);
  CHECK(code_of(changed("eos_token_id", 512), "eos_token_id 512") == invalid);
  CHECK(code_of(changed("eos_token_id", {1, -1}), "eos_token_id -1") == invalid);
  CHECK(code_of(changed("eos_token_id", "</s>"), "eos_token_id") == invalid);
  CHECK(code_of(changed("hidden_size", -64), "hidden_size") == invalid);
  CHECK(code_of(changed("hidden_size", "64"), "hidden_size") == invalid);
  CHECK(code_of(changed("vocab_size", 1e20), "vocab_size") == invalid);
  CHECK(code_of(changed("num_key_value_heads", 3), "num_key_value_heads") == invalid);
  CHECK(code_of(changed("head_dim", 31), "head_dim") == invalid);
  CHECK(code_of("{\"model_type\":", "JSON") == invalid);
  CHECK(code_of(replaced(config, "\"vocab_size\"", "\"vocab_sizes\""), "vocab_size") == invalid);
}

TEST_CASE("what transformers ignores is ignored") {
  Json json = fixture_json("models/qwen3_tied/config.json");
  json["eos_token_id"] = {1, 511};
  json["pretraining_tp"] = 2;
  json["temperature"] = 0.6;
  json["_attn_implementation_autoset"] = true;
  // The same, as older files have it too.
  json["rope_scaling"] = {{"type", "default"}};
  // Qwen3Config: without use_sliding_window the window is not used.
  json["sliding_window"] = 128;
  CHECK(make_model(json.dump(), "config.json"));
  json.erase("use_sliding_window");
  CHECK(make_model(json.dump(), "config.json"));
}

TEST_CASE("tensors must be exactly those of the configuration") {
  const TempDir dir;
  const LoadedModel m = load_model(fixture("models/qwen3_tied"), mx::float32);
  save_model(m, dir.path(), mx::float32);
  const std::string file = dir.path("model.safetensors");
  const Params good = load_safetensors(file, std::nullopt);
  auto message = [&](const std::function<void(Params&)>& change) {
    Params p = good;
    change(p);
    save_safetensors(file, p);
    const Error e = refusal(dir.path());
    CHECK(e.code == ErrorCode::invalid_file);
    return std::string(e.what());
  };
  auto judged = [&]() -> std::string {
    try {
      open_checkpoint(dir.path());
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(says(
      message([](Params& p) { p.erase("model.norm.weight"); }), "'model.norm.weight' is missing"));
  CHECK(says(judged(), "'model.norm.weight' is missing"));
  CHECK(says(message([](Params& p) { p.emplace("x", mx::ones({1})); }), "'x' (of 1)"));
  CHECK(says(
      message([](Params& p) { p.insert_or_assign("model.norm.weight", mx::ones({65})); }),
      "is [65], but"));
  CHECK(says(
      message([](Params& p) { p.insert_or_assign("model.norm.weight", mx::full({64}, NAN)); }),
      "NaN"));
  CHECK(judged() == "");  // only the weights tell
  Params whole = good;
  whole.insert_or_assign("model.norm.weight", mx::ones({64}, mx::int8));
  save_safetensors(file, whole);
  CHECK(refusal(dir.path()).code == ErrorCode::unsupported_model);
  CHECK(says(judged(), "'model.norm.weight': dtype I8 is not supported"));
  CHECK(says(
      message([](Params& p) { p.emplace("lm_head.weight", mx::ones({512, 64})); }),
      "lm_head.weight differs"));
  // Stored twice, but the same: allowed.
  Params twice = good;
  twice.emplace("lm_head.weight", good.at("model.embed_tokens.weight"));
  save_safetensors(file, twice);
  check_same(load_model(dir.path(), mx::float32), m);
  CHECK(open_checkpoint(dir.path())->model()->parameters() == m.model->parameters());
  CHECK(refusal(dir.path("nowhere")).code == ErrorCode::io);
}

TEST_CASE("a GGUF's keys and types that are not run are refused by name, without its weights") {
  const LoadedModel m = load_model(fixture("models/qwen3_tied"), mx::float32);
  const TempDir dir;
  auto judged = [&](const GgufWriter& w) -> std::string {
    try {
      open_checkpoint(dir.write("m.gguf", w.bytes()));
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  CHECK(judged(as_gguf(m)) == "");
  GgufWriter scaled = as_gguf(m);
  scaled.f32("qwen3.logit_scale", 0.5f);
  CHECK(judged(scaled).find("'qwen3.logit_scale' is not supported") != std::string::npos);
  GgufWriter other;
  other.text("general.architecture", "gemma2");
  other.f32("gemma2.attn_logit_softcapping", 50.0f);
  CHECK(judged(other).find("the family 'gemma2' is not supported") != std::string::npos);
  GgufWriter adapter = as_gguf(m);
  adapter.text("general.type", "adapter");
  CHECK(judged(adapter).find("the type 'adapter' (general.type)") != std::string::npos);
  GgufWriter part = as_gguf(m);
  part.u32("split.count", 3);
  CHECK(judged(part).find("in 3 parts (split.count)") != std::string::npos);
  GgufWriter joined = as_gguf(m);
  joined.text("general.type", "model");
  joined.u32("split.count", 0);
  CHECK(judged(joined) == "");
  GgufWriter extra = as_gguf(m);
  extra.tensor("blk.0.attn_rot_embd", {4}, 0, std::string(16, '\0'));
  CHECK(judged(extra).find("'blk.0.attn_rot_embd' is none") != std::string::npos);
  GgufWriter quantised = as_gguf(m);
  quantised.tensor("k", {256}, 15, std::string(292, '\0'));
  CHECK(judged(quantised).find("stored as Q8_K") != std::string::npos);
}

TEST_CASE("mutated model files are refused or judged, never worse") {
  const LoadedModel m = init_model(
      R"({"model_type": "llama", "vocab_size": 4, "hidden_size": 4, "intermediate_size": 4, "num_hidden_layers": 1,
          "num_attention_heads": 1, "max_position_embeddings": 16})",
      1,
      mx::float32);
  const TempDir dir;
  save_model(m, dir.path(), mx::float32);
  const std::string config = read_bytes(dir.path("config.json"));
  const std::string weights = read_bytes(dir.path("model.safetensors"));
  const std::string gguf = as_gguf(m).bytes();
  std::mt19937 random(3);
  auto mutated = [&](std::string bytes) {
    if (random() % 5 == 0) {
      bytes.resize(random() % bytes.size());
    }
    for (size_t k = 0; k <= random() % 3 && !bytes.empty(); k++) {
      const char digits[] = "0123456789-[]{},:\"";
      bytes[random() % bytes.size()] =
          random() % 2 ? static_cast<char>(random()) : digits[random() % (sizeof digits - 1)];
    }
    return bytes;
  };
  int refused = 0;
  auto judge = [&](const std::string& path) {
    try {
      open_checkpoint(path);
    } catch (const Error&) {
      refused++;
    }
  };
  for (int i = 0; i < 1000; i++) {
    dir.write("config.json", mutated(config));
    judge(dir.path());
    dir.write("config.json", config);
    dir.write("model.safetensors", mutated(weights));
    judge(dir.path());
    dir.write("model.safetensors", weights);
    judge(dir.write("m.gguf", mutated(gguf)));
  }
  CHECK(refused > 1500);
}
