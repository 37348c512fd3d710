#include "models/parts/attention.h"

#include "nn/block.h"
#include "nn/linear.h"

namespace atelier {

std::vector<LinearModule> GroupedAttention::modules() const {
  const int q = o_.heads * o_.head_dim, kv = o_.kv_heads * o_.head_dim;
  const std::string qkv = o_.at + "qkv_proj";
  return {
      {o_.at + "q_proj", qkv, o_.hidden, q, 0, o_.qkv_bias},
      {o_.at + "k_proj", qkv, o_.hidden, kv, q, o_.qkv_bias},
      {o_.at + "v_proj", qkv, o_.hidden, kv, q + kv, o_.qkv_bias},
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
  // q, k, v before and after the rotation; what attention gives.
  return {kv, 2 * (heads + kv) + heads, static_cast<uint64_t>(o_.heads)};
}

mx::array GroupedAttention::forward(
    const Params& weights,
    const Params& lora,
    const mx::array& x_BLD,
    const Model::Pass& pass) const {
  const int B = x_BLD.shape(0), L = x_BLD.shape(1);
  auto factor = [&](const std::optional<RmsNorm>& norm) {
    return norm ? std::optional(norm->factor(weights)) : std::nullopt;
  };
  auto [q, k, v] = split_heads(
      linear(weights, lora, o_.at + "qkv_proj", x_BLD),
      factor(o_.q_norm),
      factor(o_.k_norm),
      pass.angles.at(o_.rope),
      {o_.heads, o_.kv_heads, o_.head_dim, o_.q_norm ? o_.q_norm->epsilon : 0.0f});
  if (pass.cache) {
    KeysValues all = append(*pass.cache, o_.index, k, v);
    k = all.k;
    v = all.v;
  }
  mx::array y = attention(q, k, v, pass.visible, o_.scale, o_.window);
  if (L > 1) {  // one position: the heads lie in order as they are
    y = mx::transpose(y, {0, 2, 1, 3});
  }
  return linear(weights, lora, o_.at + "o_proj", mx::reshape(y, {B, L, o_.heads * o_.head_dim}));
}

}  // namespace atelier
