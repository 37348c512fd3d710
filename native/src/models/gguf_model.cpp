#include "models/gguf_model.h"

#include "core/error.h"
#include "core/text.h"
#include "models/assemble.h"
#include "models/check_tensors.h"
#include "models/gguf_config.h"
#include "models/registry.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace atelier {
namespace {

struct Renamed {
  const char* gguf;
  const char* transformers;
};

const Renamed top[] = {
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
};
const Renamed in_layer[] = {
    {"attn_norm.weight", "input_layernorm.weight"},
    {"ffn_norm.weight", "post_attention_layernorm.weight"},
    {"attn_q.weight", "self_attn.q_proj.weight"},
    {"attn_k.weight", "self_attn.k_proj.weight"},
    {"attn_v.weight", "self_attn.v_proj.weight"},
    {"attn_output.weight", "self_attn.o_proj.weight"},
    {"attn_q_norm.weight", "self_attn.q_norm.weight"},
    {"attn_k_norm.weight", "self_attn.k_norm.weight"},
    {"ffn_gate.weight", "mlp.gate_proj.weight"},
    {"ffn_up.weight", "mlp.up_proj.weight"},
    {"ffn_down.weight", "mlp.down_proj.weight"},
};

// llama.cpp stores the rows of q and k of the llama family so that rope pairs neighbours; here it pairs halves.
mx::array unpermuted(const mx::array& w, int heads) {
  const int rows = w.shape(0), in = w.shape(1);
  return mx::reshape(
      mx::transpose(mx::reshape(w, {heads, rows / heads / 2, 2, in}), {0, 2, 1, 3}), {rows, in});
}

// Llama 3.1 and later: their GGUF holds no parameters of the scaling, only each frequency's divisor. The
// parameters are those the models were published with; they must reproduce the divisors.
Json llama3_rope(const Json& config, const GgufTensor& scaling, const std::string& file) {
  const int head_dim = config.at("head_dim");
  const double theta = config.at("rope_parameters").at("rope_theta"), original = 8192.0;
  bool same = scaling.shape == std::vector<int64_t>{head_dim / 2};
  const std::vector<float> divisors =
      same ? read_gguf_tensor(file, scaling) : std::vector<float>{1.0f};
  const double factor = *std::max_element(divisors.begin(), divisors.end());
  for (int i = 0; same && i < head_dim / 2; i++) {
    const double wavelength = 2 * std::numbers::pi * std::pow(theta, 2.0 * i / head_dim);
    const double smooth = std::clamp((original / wavelength - 1.0) / 3.0, 0.0, 1.0);
    const double expected = 1 / ((1 - smooth) / factor + smooth);
    same = factor >= 1 && std::abs(divisors[i] - expected) < 1e-3 * expected;
  }
  if (!same) {
    throw Error(
        ErrorCode::unsupported_model,
        file + ": the scaling in tensor 'rope_freqs.weight' is not supported");
  }
  return {
      {"factor", factor},
      {"high_freq_factor", 4.0},
      {"low_freq_factor", 1.0},
      {"original_max_position_embeddings", original},
      {"rope_theta", theta},
      {"rope_type", "llama3"}};
}

struct GgufModel {
  GgufHeader header;
  Json config;
  std::shared_ptr<const Model> model;
  /** transformers' name -> the file's. */
  std::map<std::string, std::string> names;
};

constexpr const char* rope_scaling = "rope_freqs.weight";

GgufModel open_gguf(const std::string& file) {
  GgufModel out{read_gguf_header(file), {}, nullptr, {}};
  out.config = gguf_config(out.header, file);
  Json& config = out.config;
  require_gguf_types(file, out.header);
  auto unknown = out.header.tensors;
  if (auto scaling = unknown.find(rope_scaling); scaling != unknown.end()) {
    config["rope_parameters"] = llama3_rope(config, scaling->second, file);
    unknown.erase(scaling);
  }
  TensorShapes shapes;
  auto name = [&](const std::string& from, const std::string& to) {
    if (auto found = unknown.find(from); found != unknown.end()) {
      shapes.emplace(to, mx::Shape(found->second.shape.begin(), found->second.shape.end()));
      out.names.emplace(to, from);
      unknown.erase(found);
    }
  };
  for (const Renamed& r : top) {
    name(r.gguf, r.transformers);
  }
  out.model = make_model(config.dump(), file);
  for (int i = 0; i < out.model->config().layers; i++) {
    for (const Renamed& r : in_layer) {
      name(
          "blk." + std::to_string(i) + "." + r.gguf,
          "model.layers." + std::to_string(i) + "." + r.transformers);
    }
  }
  if (!unknown.empty()) {
    throw Error(
        ErrorCode::unsupported_model,
        file + ": tensor " + quoted(unknown.begin()->first) + " is none that a " +
            out.model->config().family + " model has here");
  }
  check_tensors(*out.model, shapes, file);
  return out;
}

}  // namespace

std::shared_ptr<const Model> check_gguf_model(const std::string& file) {
  return open_gguf(file).model;
}

LoadedModel load_gguf_model(const std::string& file, mx::Dtype dtype) {
  GgufModel gguf = open_gguf(file);
  const bool llama = gguf.model->config().family == "llama";
  gguf.header.tensors.erase(rope_scaling);
  Params raw = load_gguf(file, gguf.header, dtype);
  Params tensors;
  for (const auto& [name, from] : gguf.names) {
    mx::array value = std::move(raw.at(from));
    raw.erase(from);
    if (llama && name.ends_with("q_proj.weight")) {
      value = unpermuted(value, gguf.config.at("num_attention_heads"));
    } else if (llama && name.ends_with("k_proj.weight")) {
      value = unpermuted(value, gguf.config.at("num_key_value_heads"));
    }
    tensors.emplace(name, std::move(value));
  }
  return assemble(gguf.model, std::move(tensors), dtype);
}

}  // namespace atelier
