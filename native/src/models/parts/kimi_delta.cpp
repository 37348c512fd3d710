// Shapes: B batch, L length, H heads, E head, C = H E.
#include "models/parts/kimi_delta.h"

#include "models/parts/recurrent.h"
#include "nn/block.h"
#include "nn/gated_delta.h"
#include "nn/linear.h"

namespace atelier {
namespace {

constexpr const char* convolutions[] = {"q_conv1d.weight", "k_conv1d.weight", "v_conv1d.weight"};

mx::array exact(const mx::array& a) {
  return mx::astype(a, mx::float32);
}

}  // namespace

std::vector<LinearModule> KimiDelta::modules() const {
  const std::string in = o_.at + "in_proj";
  std::vector<LinearModule> out;
  int row = 0;
  auto add = [&](const char* name, int rows) {
    out.push_back({o_.at + name, in, o_.hidden, rows, row});
    row += rows;
  };
  add("q_proj", size());
  add("k_proj", size());
  add("v_proj", size());
  add("forget_gate.f_proj", size());
  add("g_proj", size());
  add("b_proj", o_.heads);
  out.push_back({o_.at + "o_proj", o_.at + "o_proj", size(), o_.hidden, 0});
  return out;
}

std::vector<TensorSpec> KimiDelta::tensors() const {
  std::vector<TensorSpec> out;
  for (const char* name : convolutions) {
    out.push_back({o_.at + name, {size(), 1, o_.width}});
  }
  out.push_back({o_.at + "forget_gate.A_log", {o_.heads}, Fill::zeros});
  out.push_back({o_.at + "forget_gate.dt_bias", {size()}, Fill::zeros});
  out.push_back({o_.at + "o_norm.weight", {o_.head_dim}, Fill::ones});
  return out;
}

RowNumbers KimiDelta::row_numbers() const {
  RowNumbers out;
  // Its inputs; q, k, v after the convolution, q and k normalised; what the rule gives, its norm, and that gated.
  out.kept_token = uint64_t{13} * size() + 2 * o_.heads;
  out.recurrent = recurrent_numbers(o_.heads, o_.head_dim, o_.head_dim, 3 * size(), o_.width);
  return out;
}

mx::array KimiDelta::decay(const Params& weights, const mx::array& f_BLC) const {
  const mx::array f = mx::reshape(
      exact(f_BLC) + exact(weights.at(o_.at + "forget_gate.dt_bias")),
      {f_BLC.shape(0), f_BLC.shape(1), o_.heads, o_.head_dim});
  const mx::array rate =
      mx::expand_dims(mx::exp(exact(weights.at(o_.at + "forget_gate.A_log"))), 1);
  return o_.lower_bound ? mx::sigmoid(rate * f) * mx::array(static_cast<float>(*o_.lower_bound))
                        : mx::negative(rate * mx::logaddexp(f, mx::array(0.0f)));
}

mx::array KimiDelta::forward(
    const Params& weights,
    const Params& lora,
    const mx::array& x_BLD,
    const Model::Pass& pass) const {
  const int B = x_BLD.shape(0), L = x_BLD.shape(1), C = size();
  KvCache::Layer* past = recurrent_past(pass, o_.index);
  const mx::array x = without_padding(x_BLD, pass.cache);
  const std::vector<mx::array> in =
      mx::split(linear(weights, lora, o_.at + "in_proj", x), mx::Shape{3 * C, 4 * C, 5 * C}, 2);
  std::vector<mx::array> conv;
  for (const char* name : convolutions) {
    conv.push_back(mx::reshape(weights.at(o_.at + name), {C, o_.width}));
  }
  auto heads = [&](const mx::array& a) { return mx::reshape(a, {B, L, o_.heads, o_.head_dim}); };
  const std::vector<mx::array> qkv =
      mx::split(short_conv(in[0], mx::concatenate(conv, 0), past), 3, 2);
  const mx::array y = gated_delta(
      heads(qkv[0]),
      heads(qkv[1]),
      heads(qkv[2]),
      decay(weights, in[1]),
      mx::sigmoid(exact(in[3])),
      past);
  const mx::array out = rms_norm(y, exact(weights.at(o_.at + "o_norm.weight")), o_.epsilon) *
                        mx::sigmoid(heads(exact(in[2])));
  return linear(
      weights, lora, o_.at + "o_proj", mx::reshape(mx::astype(out, x_BLD.dtype()), {B, L, C}));
}

}  // namespace atelier
