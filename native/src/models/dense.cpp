// Shapes: B batch, L length, D model, H query heads, K key heads, E head, S slots.
#include "models/dense.h"

#include "nn/block.h"
#include "nn/linear.h"

#include <cmath>
#include <numbers>

namespace atelier {
namespace {

std::string layer_name(int index) {
  return "model.layers." + std::to_string(index) + ".";
}

// transformers' _compute_llama3_parameters; rounded to f32 at the end of each step, as there.
std::vector<float> inverse_frequencies(const ModelConfig& c) {
  std::vector<float> out;
  for (int i = 0; i < c.head_dim; i += 2) {
    const float f = 1.0f / static_cast<float>(std::pow(c.rope_theta, double(i) / c.head_dim));
    if (!c.rope_llama3) {
      out.push_back(f);
      continue;
    }
    const Llama3Rope& r = *c.rope_llama3;
    const double wavelength = 2 * std::numbers::pi / f;
    if (wavelength < r.original_context / r.high_freq_factor) {
      out.push_back(f);
    } else if (wavelength > r.original_context / r.low_freq_factor) {
      out.push_back(static_cast<float>(f / r.factor));
    } else {
      const double smooth = (r.original_context / wavelength - r.low_freq_factor) /
                            (r.high_freq_factor - r.low_freq_factor);
      out.push_back(static_cast<float>((1 - smooth) * f / r.factor + smooth * f));
    }
  }
  return out;
}

}  // namespace

DenseDecoder::DenseDecoder(ModelConfig config)
    : Model(std::move(config)), inv_freq_(inverse_frequencies(this->config())) {}

std::vector<LinearModule> DenseDecoder::linears() const {
  const ModelConfig& c = config();
  const int q = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim;
  std::vector<LinearModule> out;
  for (int i = 0; i < c.layers; i++) {
    const std::string attn = layer_name(i) + "self_attn.", mlp = layer_name(i) + "mlp.";
    out.push_back({attn + "q_proj", attn + "qkv_proj", c.hidden, q, 0});
    out.push_back({attn + "k_proj", attn + "qkv_proj", c.hidden, kv, q});
    out.push_back({attn + "v_proj", attn + "qkv_proj", c.hidden, kv, q + kv});
    out.push_back({attn + "o_proj", attn + "o_proj", q, c.hidden, 0});
    out.push_back({mlp + "gate_proj", mlp + "gate_up_proj", c.hidden, c.intermediate, 0});
    out.push_back(
        {mlp + "up_proj", mlp + "gate_up_proj", c.hidden, c.intermediate, c.intermediate});
    out.push_back({mlp + "down_proj", mlp + "down_proj", c.intermediate, c.hidden, 0});
  }
  return out;
}

std::vector<TensorSpec> DenseDecoder::tensors() const {
  const ModelConfig& c = config();
  std::vector<TensorSpec> out{
      {"model.embed_tokens.weight", {c.vocabulary, c.hidden}}, {"model.norm.weight", {c.hidden}}};
  if (!c.tied) {
    out.push_back({"lm_head.weight", {c.vocabulary, c.hidden}});
  }
  for (int i = 0; i < c.layers; i++) {
    const std::string at = layer_name(i);
    out.push_back({at + "input_layernorm.weight", {c.hidden}});
    out.push_back({at + "post_attention_layernorm.weight", {c.hidden}});
    if (c.qk_norm) {
      out.push_back({at + "self_attn.q_norm.weight", {c.head_dim}});
      out.push_back({at + "self_attn.k_norm.weight", {c.head_dim}});
    }
  }
  for (const LinearModule& m : linears()) {
    out.push_back({m.name + ".weight", {m.out, m.in}});
  }
  return out;
}

Params DenseDecoder::stack(const Params& checkpoint) const {
  Params out = checkpoint;
  std::map<std::string, std::vector<mx::array>> parts;
  for (const LinearModule& m : linears()) {
    auto found = out.find(m.name + ".weight");
    parts[m.product].push_back(found->second);
    out.erase(found);
  }
  for (auto& [product, rows] : parts) {
    out.emplace(product + ".weight", rows.size() == 1 ? rows[0] : mx::concatenate(rows, 0));
  }
  return out;
}

Params DenseDecoder::unstack(const Params& weights) const {
  Params out = weights;
  for (const LinearModule& m : linears()) {
    const mx::array& product = weights.at(m.product + ".weight");
    out.erase(m.product + ".weight");
    out.insert_or_assign(
        m.name + ".weight",
        product.shape(0) == m.out ? product
                                  : mx::slice(product, {m.row, 0}, {m.row + m.out, m.in}));
  }
  return out;
}

Model::Pass
DenseDecoder::begin(const mx::array& ids_BL, KvCache* cache, std::optional<mx::array> mask) const {
  const int L = ids_BL.shape(1);
  const int from = cache ? cache->length : 0;
  mx::array positions = mx::reshape(mx::arange(from, from + L, mx::int32), {1, L});
  if (cache && cache->ragged()) {
    positions = positions - cache->start_B1();
  }
  const mx::array inv_freq(inv_freq_.begin(), {static_cast<int>(inv_freq_.size())});
  return {
      rope_angles(positions, inv_freq),
      {std::move(mask), cache && cache->ragged() ? cache->start : std::vector<int32_t>{}},
      cache};
}

mx::array DenseDecoder::embed(const Params& weights, const mx::array& ids_BL) const {
  return mx::take(weights.at("model.embed_tokens.weight"), ids_BL, 0);
}

mx::array DenseDecoder::norm(const Params& weights, const std::string& name, const mx::array& x)
    const {
  return rms_norm(x, weights.at(name + ".weight"), static_cast<float>(config().norm_epsilon));
}

mx::array DenseDecoder::final_norm(const Params& weights, const mx::array& x_BLD) const {
  return norm(weights, "model.norm", x_BLD);
}

mx::array DenseDecoder::attend(
    const std::string& at,
    const Params& weights,
    const Params& lora,
    const mx::array& x,
    const Pass& pass,
    int index) const {
  const ModelConfig& c = config();
  auto head_norm = [&](const char* name) {
    return c.qk_norm ? std::optional(weights.at(at + name)) : std::nullopt;
  };
  auto [q, k, v] = split_heads(
      linear(weights, lora, at + "qkv_proj", x),
      head_norm("q_norm.weight"),
      head_norm("k_norm.weight"),
      pass.angles,
      {c.heads, c.kv_heads, c.head_dim, static_cast<float>(c.norm_epsilon)});
  if (pass.cache) {
    KeysValues all = append(*pass.cache, index, k, v);
    k = all.k;
    v = all.v;
  }
  mx::array y = attention(q, k, v, pass.visible);
  if (x.shape(1) > 1) {  // one position: the heads lie in order as they are
    y = mx::transpose(y, {0, 2, 1, 3});
  }
  return linear(
      weights, lora, at + "o_proj", mx::reshape(y, {x.shape(0), x.shape(1), c.heads * c.head_dim}));
}

mx::array DenseDecoder::layer(
    int index,
    const Params& weights,
    const Params& lora,
    const mx::array& x_BLD,
    const Pass& pass) const {
  const std::string at = layer_name(index);
  const mx::array x = x_BLD + attend(
                                  at + "self_attn.",
                                  weights,
                                  lora,
                                  norm(weights, at + "input_layernorm", x_BLD),
                                  pass,
                                  index);
  const mx::array gate_up = linear(
      weights, lora, at + "mlp.gate_up_proj", norm(weights, at + "post_attention_layernorm", x));
  return x + linear(weights, lora, at + "mlp.down_proj", swiglu(gate_up));
}

}  // namespace atelier
