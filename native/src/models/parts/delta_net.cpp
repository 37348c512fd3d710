// Shapes: B batch, L length, K key heads, H value heads, D key head, E value head, C channels of the convolution.
#include "models/parts/delta_net.h"

#include "models/parts/columns.h"
#include "models/parts/recurrent.h"
#include "nn/block.h"
#include "nn/gated_delta.h"
#include "nn/linear.h"

namespace atelier {

std::vector<LinearModule> DeltaNet::modules() const {
  const std::string in = o_.at + "in_proj";
  std::vector<LinearModule> out;
  int row = 0;
  auto add = [&](const char* name, int size) {
    out.push_back({o_.at + name, in, o_.hidden, size, row});
    row += size;
  };
  if (o_.fused) {
    add("in_proj_qkvz", channels() + values());
    add("in_proj_ba", 2 * o_.heads);
  } else {
    add("in_proj_qkv", channels());
    add("in_proj_z", values());
    add("in_proj_b", o_.heads);
    add("in_proj_a", o_.heads);
  }
  out.push_back({o_.at + "out_proj", o_.at + "out_proj", values(), o_.hidden, 0});
  return out;
}

std::vector<TensorSpec> DeltaNet::tensors() const {
  return {
      {o_.at + "conv1d.weight", {channels(), 1, o_.width}},
      {o_.at + "dt_bias", {o_.heads}, Fill::ones},
      {o_.at + "A_log", {o_.heads}, Fill::zeros},
      {o_.at + "norm.weight", {o_.value_dim}, Fill::ones}};
}

RowNumbers DeltaNet::row_numbers() const {
  RowNumbers out;
  // Its inputs; q, k, v after the convolution, q and k normalised; what the rule gives, its norm, and that gated.
  out.kept_token = uint64_t{2} * (channels() + values() + o_.heads) + 2 * keys() + 2 * values();
  out.recurrent = recurrent_numbers(o_.heads, o_.key_dim, o_.value_dim, channels(), o_.width);
  return out;
}

DeltaNet::Inputs DeltaNet::inputs(const mx::array& product) const {
  const int B = product.shape(0), L = product.shape(1), K = o_.key_heads, D = o_.key_dim;
  const int C = channels(), V = values(), H = o_.heads;
  if (!o_.fused) {
    return {
        columns(product, 0, C),
        columns(product, C, C + V),
        columns(product, C + V, C + V + H),
        columns(product, C + V + H, C + V + 2 * H)};
  }
  // Of each key head: q, k, and v and z of its value heads; b and a of these.
  const int each = V / K, group = H / K;
  const mx::array qkvz = mx::reshape(columns(product, 0, C + V), {B, L, K, 2 * (D + each)});
  const mx::array ba = mx::reshape(columns(product, C + V, C + V + 2 * H), {B, L, K, 2 * group});
  auto flat = [&](const mx::array& a, int from, int size) {
    return mx::reshape(columns(a, from, from + size), {B, L, K * size});
  };
  return {
      mx::concatenate({flat(qkvz, 0, D), flat(qkvz, D, D), flat(qkvz, 2 * D, each)}, 2),
      flat(qkvz, 2 * D + each, each),
      flat(ba, 0, group),
      flat(ba, group, group)};
}

mx::array DeltaNet::forward(
    const Params& weights,
    const Params& lora,
    const mx::array& x_BLD,
    const Model::Pass& pass) const {
  const int B = x_BLD.shape(0), L = x_BLD.shape(1), H = o_.heads, E = o_.value_dim;
  KvCache::Layer* past = recurrent_past(pass, o_.index);
  const mx::array x = without_padding(x_BLD, pass.cache);
  const Inputs in = inputs(linear(weights, lora, o_.at + "in_proj", x));
  const mx::array conv = mx::reshape(weights.at(o_.at + "conv1d.weight"), {channels(), o_.width});
  const std::vector<mx::array> qkv =
      mx::split(short_conv(in.qkv, conv, past), mx::Shape{keys(), 2 * keys()}, 2);
  auto keyed = [&](const mx::array& a) { return mx::reshape(a, {B, L, o_.key_heads, o_.key_dim}); };
  auto exact = [](const mx::array& a) { return mx::astype(a, mx::float32); };
  const mx::array rate = mx::exp(exact(weights.at(o_.at + "A_log")));
  const mx::array step =
      mx::logaddexp(exact(in.a) + exact(weights.at(o_.at + "dt_bias")), mx::array(0.0f));
  const mx::array y = gated_delta(
      keyed(qkv[0]),
      keyed(qkv[1]),
      mx::reshape(qkv[2], {B, L, H, E}),
      mx::expand_dims(mx::negative(rate * step), 3),
      mx::sigmoid(exact(in.b)),
      past);
  const mx::array normed = rms_norm(y, exact(weights.at(o_.at + "norm.weight")), o_.epsilon);
  const mx::array z = mx::reshape(exact(in.z), {B, L, H, E});
  const mx::array out = swiglu(mx::concatenate({z, normed}, -1));
  return linear(
      weights,
      lora,
      o_.at + "out_proj",
      mx::reshape(mx::astype(out, x_BLD.dtype()), {B, L, values()}));
}

}  // namespace atelier
