#include "models/parts/attention.h"

#include "models/parts/columns.h"
#include "nn/block.h"
#include "nn/linear.h"

namespace atelier {

std::vector<LinearModule> GroupedAttention::modules() const {
  const int q = o_.heads * o_.head_dim, kv = o_.kv_heads * o_.head_dim;
  const int q_out = o_.gated ? 2 * q : q;
  const std::string qkv = o_.at + "qkv_proj";
  return {
      {o_.at + "q_proj", qkv, o_.hidden, q_out, 0, o_.qkv_bias},
      {o_.at + "k_proj", qkv, o_.hidden, kv, q_out, o_.qkv_bias},
      {o_.at + "v_proj", qkv, o_.hidden, kv, q_out + kv, o_.qkv_bias},
      {o_.at + "o_proj", o_.at + "o_proj", q, o_.hidden, 0, o_.out_bias}};
}

std::vector<TensorSpec> GroupedAttention::tensors() const {
  std::vector<TensorSpec> out;
  for (const auto& norm : {o_.q_norm, o_.k_norm}) {
    if (norm) {
      out.push_back(norm->tensor());
    }
  }
  return out;
}

RowNumbers GroupedAttention::row_numbers() const {
  const uint64_t heads = uint64_t{1} * o_.heads * o_.head_dim;
  const uint64_t kv = uint64_t{2} * o_.kv_heads * o_.head_dim;
  // q, k, v before and after the rotation; what attention gives, its gate, and that gated.
  const uint64_t given = o_.gated ? 3 * heads : heads;
  return {kv, 2 * (heads + kv) + given, static_cast<uint64_t>(o_.heads)};
}

mx::array GroupedAttention::forward(
    const Params& weights,
    const Params& lora,
    const mx::array& x_BLD,
    const Model::Pass& pass) const {
  return linear(weights, lora, o_.at + "o_proj", heads(weights, lora, x_BLD, pass));
}

mx::array GroupedAttention::forward_onto(
    const mx::array& residual,
    const Params& weights,
    const Params& lora,
    const mx::array& x_BLD,
    const Model::Pass& pass) const {
  return linear_onto(residual, weights, lora, o_.at + "o_proj", heads(weights, lora, x_BLD, pass));
}

mx::array GroupedAttention::heads(
    const Params& weights,
    const Params& lora,
    const mx::array& x_BLD,
    const Model::Pass& pass) const {
  const int B = x_BLD.shape(0), L = x_BLD.shape(1);
  auto factor = [&](const std::optional<RmsNorm>& norm) {
    return norm ? std::optional(norm->factor(weights)) : std::nullopt;
  };
  const int width = o_.heads * o_.head_dim;
  mx::array qkv = linear(weights, lora, o_.at + "qkv_proj", x_BLD);
  std::optional<mx::array> gate;
  if (o_.gated) {
    const mx::array heads =
        mx::reshape(columns(qkv, 0, 2 * width), {B, L, o_.heads, 2 * o_.head_dim});
    gate = mx::reshape(columns(heads, o_.head_dim, 2 * o_.head_dim), {B, L, width});
    qkv = mx::concatenate(
        {mx::reshape(columns(heads, 0, o_.head_dim), {B, L, width}),
         columns(qkv, 2 * width, qkv.shape(2))},
        2);
  }
  const mx::array y = attend(
      pass.cache,
      o_.index,
      qkv,
      factor(o_.q_norm),
      factor(o_.k_norm),
      pass.angles.at(o_.rope),
      {o_.heads, o_.kv_heads, o_.head_dim, o_.q_norm ? o_.q_norm->epsilon : 0.0f},
      pass.visible,
      {o_.scale, o_.window});
  return gate ? y * mx::sigmoid(*gate) : y;
}

}  // namespace atelier
