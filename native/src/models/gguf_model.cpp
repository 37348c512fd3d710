#include "models/gguf_model.h"

#include "core/error.h"
#include "core/text.h"
#include "models/assemble.h"
#include "models/gguf_config.h"
#include "models/registry.h"

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
  if (w.ndim() != 2 || w.shape(0) % (2 * heads) != 0) {
    return w;  // assemble refuses the shape
  }
  const int rows = w.shape(0), in = w.shape(1);
  return mx::reshape(
      mx::transpose(mx::reshape(w, {heads, rows / heads / 2, 2, in}), {0, 2, 1, 3}), {rows, in});
}

// Llama 3.1 and later: their GGUF holds no parameters of the scaling, only each frequency's divisor. The
// parameters are those the models were published with; they must reproduce the divisors.
Llama3Rope llama3_rope(const ModelConfig& c, const mx::array& divisors, const std::string& file) {
  Llama3Rope r{mx::max(divisors).item<float>(), 1.0, 4.0, 8192.0};
  const mx::array d = mx::astype(divisors, mx::float32);
  mx::eval(d);
  bool same = d.size() == static_cast<size_t>(c.head_dim) / 2;
  for (int i = 0; same && i < c.head_dim / 2; i++) {
    const double wavelength = 2 * std::numbers::pi * std::pow(c.rope_theta, 2.0 * i / c.head_dim);
    const double smooth = std::clamp((r.original_context / wavelength - 1.0) / 3.0, 0.0, 1.0);
    const double expected = 1 / ((1 - smooth) / r.factor + smooth);
    same = std::abs(d.data<float>()[i] - expected) < 1e-3 * expected;
  }
  if (!same) {
    throw Error(
        ErrorCode::unsupported_model,
        file + ": the scaling in tensor 'rope_freqs.weight' is not supported");
  }
  return r;
}

}  // namespace

LoadedModel load_gguf_model(const std::string& file, mx::Dtype dtype) {
  const GgufHeader header = read_gguf_header(file);
  ModelConfig config = gguf_config(header, file);
  Params raw = load_gguf(file, header, dtype);
  if (auto scaling = raw.find("rope_freqs.weight"); scaling != raw.end()) {
    config.rope_llama3 = llama3_rope(config, scaling->second, file);
    raw.erase(scaling);
  }
  Params tensors;
  auto take = [&](const std::string& from, const std::string& to) {
    auto found = raw.find(from);
    if (found != raw.end()) {
      tensors.emplace(to, std::move(found->second));
      raw.erase(found);
    }
  };
  for (const Renamed& name : top) {
    take(name.gguf, name.transformers);
  }
  for (int i = 0; i < config.layers; i++) {
    for (const Renamed& name : in_layer) {
      take(
          "blk." + std::to_string(i) + "." + name.gguf,
          "model.layers." + std::to_string(i) + "." + name.transformers);
    }
  }
  if (!raw.empty()) {
    throw Error(
        ErrorCode::unsupported_model,
        file + ": tensor " + quoted(raw.begin()->first) + " is none that a " + config.family +
            " model has here");
  }
  if (config.family == "llama") {
    for (auto& [name, value] : tensors) {
      if (name.ends_with("q_proj.weight")) {
        value = unpermuted(value, config.heads);
      } else if (name.ends_with("k_proj.weight")) {
        value = unpermuted(value, config.kv_heads);
      }
    }
  }
  return assemble(make_model(config), std::move(tensors), dtype, file);
}

}  // namespace atelier
