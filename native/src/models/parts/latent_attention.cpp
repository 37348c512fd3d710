// Shapes: B batch, L length, S slots, H heads, R latent.
#include "models/parts/latent_attention.h"

#include "models/parts/columns.h"
#include "nn/linear.h"

#include <algorithm>
#include <cmath>

namespace atelier {
namespace {

// Neighbours (2i, 2i + 1) rotated; they end as halves (i, i + half), for q and k alike.
mx::array rotated_pairs(const mx::array& x, const RopeAngles& angles) {
  mx::Shape pairs = x.shape();
  pairs.back() /= 2;
  pairs.push_back(2);
  const mx::array halves = mx::reshape(mx::swapaxes(mx::reshape(x, pairs), -1, -2), x.shape());
  const std::vector<mx::array> half = mx::split(halves, 2, -1);
  return mx::astype(
      halves * angles.cos + mx::concatenate({half[1], half[0]}, -1) * angles.sin, x.dtype());
}

mx::array wider(const mx::array& a, int size) {
  return a.shape(-1) >= size ? a
                             : mx::pad(
                                   a,
                                   std::vector<int>{-1},
                                   mx::Shape{0},
                                   mx::Shape{size - a.shape(-1)},
                                   mx::array(0.0f, a.dtype()));
}

}  // namespace

LatentAttention::LatentAttention(LatentAttentionOptions options)
    : o_(std::move(options)),
      kv_norm_{o_.at + "kv_a_layernorm", o_.kv_rank, o_.epsilon},
      q_norm_{o_.at + "q_a_layernorm", o_.q_rank, o_.epsilon} {}

std::vector<LinearModule> LatentAttention::modules() const {
  const std::string in = o_.at + "in_proj";
  const int q = o_.heads * key(), from_x = o_.q_rank ? o_.q_rank : q, kv = o_.kv_rank + o_.rotary;
  std::vector<LinearModule> out{
      {o_.at + (o_.q_rank ? "q_a_proj" : "q_proj"), in, o_.hidden, from_x, 0},
      {o_.at + "kv_a_proj_with_mqa", in, o_.hidden, kv, from_x},
      {o_.at + "g_proj", in, o_.hidden, o_.heads, from_x + kv},
      {o_.at + "kv_b_proj", o_.at + "kv_b_proj", o_.kv_rank, o_.heads * (o_.plain + o_.value), 0},
      {o_.at + "o_proj", o_.at + "o_proj", o_.heads * o_.value, o_.hidden, 0}};
  if (o_.q_rank) {
    out.push_back({o_.at + "q_b_proj", o_.at + "q_b_proj", o_.q_rank, q, 0});
  }
  return out;
}

std::vector<TensorSpec> LatentAttention::tensors() const {
  std::vector<TensorSpec> out{kv_norm_.tensor()};
  if (o_.q_rank) {
    out.push_back(q_norm_.tensor());
  }
  return out;
}

RowNumbers LatentAttention::row_numbers() const {
  const uint64_t latent = o_.kv_rank + o_.rotary;
  const uint64_t heads = uint64_t{1} * o_.heads * (2 * key() + o_.plain + 3 * o_.value);
  RowNumbers out;
  out.cached_token = latent;
  // The latents before and after their norms; q, k, v, and what attention gives before and after its gate.
  out.kept_token = 2 * latent + 2 * o_.q_rank + uint64_t{2} * o_.heads * key() + heads;
  out.kept_pair = o_.heads;
  return out;
}

// Keys and values of every head, made of all slots.
mx::array LatentAttention::expanded(
    const Params& weights,
    const Params& lora,
    const mx::array& q,
    const mx::array& slots,
    const Visibility& visible) const {
  const int B = slots.shape(0), S = slots.shape(2), H = o_.heads, R = o_.kv_rank;
  const mx::array kv = mx::transpose(
      mx::reshape(
          linear(weights, lora, o_.at + "kv_b_proj", mx::squeeze(columns(slots, 0, R), 1)),
          {B, S, H, o_.plain + o_.value}),
      {0, 2, 1, 3});
  const mx::array shared = mx::broadcast_to(columns(slots, R, R + o_.rotary), {B, H, S, o_.rotary});
  const mx::array k = mx::concatenate({columns(kv, 0, o_.plain), shared}, -1);
  const mx::array v = columns(kv, o_.plain, o_.plain + o_.value);
  // Attention takes heads of one size.
  const int size = std::max(key(), o_.value);
  return columns(
      attention(
          wider(q, size),
          wider(k, size),
          wider(v, size),
          visible,
          1 / std::sqrt(static_cast<double>(key()))),
      0,
      o_.value);
}

// The same for few queries: the matrices that would make keys and values of the slots are applied to the queries and
// to what attention gives, and every head reads the slots themselves.
mx::array LatentAttention::absorbed(
    const Params& weights,
    const Params& lora,
    const mx::array& q,
    const mx::array& slots,
    const Visibility& visible) const {
  const int H = o_.heads, R = o_.kv_rank;
  const std::string name = o_.at + "kv_b_proj";
  const int rows = H * (o_.plain + o_.value);
  mx::array w = mx::astype(weight_of(weights, name, R).dense(0, rows), q.dtype());
  if (auto a = lora.find(name + ".A"); a != lora.end()) {
    w = w + mx::matmul(lora.at(name + ".B"), a->second);
    if (auto gain = lora.find(name + ".gain"); gain != lora.end()) {
      w = w * mx::expand_dims(gain->second, 1);
    }
  }
  w = mx::reshape(w, {H, o_.plain + o_.value, R});
  const mx::array to_key = mx::slice(w, {0, 0, 0}, {H, o_.plain, R});
  const mx::array to_value = mx::slice(w, {0, o_.plain, 0}, {H, o_.plain + o_.value, R});
  const mx::array query = mx::concatenate(
      {mx::matmul(columns(q, 0, o_.plain), to_key), columns(q, o_.plain, key())}, -1);
  const mx::array y =
      attention(query, slots, slots, visible, 1 / std::sqrt(static_cast<double>(key())));
  return mx::matmul(columns(y, 0, R), mx::swapaxes(to_value, -1, -2));
}

mx::array LatentAttention::forward(
    const Params& weights,
    const Params& lora,
    const mx::array& x_BLD,
    const Model::Pass& pass) const {
  const int B = x_BLD.shape(0), L = x_BLD.shape(1), H = o_.heads;
  const int from_x = o_.q_rank ? o_.q_rank : H * key();
  const std::vector<mx::array> in = mx::split(
      linear(weights, lora, o_.at + "in_proj", x_BLD),
      mx::Shape{from_x, from_x + o_.kv_rank, from_x + o_.kv_rank + o_.rotary},
      2);
  const mx::array q_flat =
      o_.q_rank ? linear(weights, lora, o_.at + "q_b_proj", q_norm_(weights, in[0])) : in[0];
  mx::array q = mx::transpose(mx::reshape(q_flat, {B, L, H, key()}), {0, 2, 1, 3});
  const RopeAngles& angles = pass.angles.at(o_.rope);
  q = mx::concatenate(
      {columns(q, 0, o_.plain), rotated_pairs(columns(q, o_.plain, key()), angles)}, -1);
  mx::array slots = mx::concatenate(
      {mx::expand_dims(kv_norm_(weights, in[1]), 1),
       rotated_pairs(mx::expand_dims(in[2], 1), angles)},
      -1);
  if (pass.cache) {
    slots = append(*pass.cache, pass.cache->layers.at(o_.index).k, slots);
  }
  const bool decode = pass.cache && L == 1;
  const mx::array y = decode ? absorbed(weights, lora, q, slots, pass.visible)
                             : expanded(weights, lora, q, slots, pass.visible);
  const mx::array gate = mx::sigmoid(mx::astype(in[3], mx::float32));
  const mx::array out = mx::transpose(y, {0, 2, 1, 3}) * mx::expand_dims(gate, 3);
  return linear(
      weights,
      lora,
      o_.at + "o_proj",
      mx::reshape(mx::astype(out, x_BLD.dtype()), {B, L, H * o_.value}));
}

}  // namespace atelier
