// Shapes: B rows, V vocabulary.
#include "infer/sampler.h"

#include "kernels/draw.h"

#include <algorithm>
#include <cmath>

namespace atelier {
namespace {

mx::array hide(const mx::array& x, const mx::array& hidden) {
  return mx::where(hidden, mx::array(-INFINITY), x);
}

mx::array normalised(const mx::array& x_BV) {
  return x_BV - mx::logsumexp(x_BV, -1, true);
}

mx::array pick(const mx::array& x_BV, const mx::array& token_B) {
  return mx::squeeze(mx::take_along_axis(x_BV, mx::expand_dims(token_B, 1), 1), 1);
}

bool filters(const Sampling& s) {
  return s.top_k > 0 || s.top_p < 1 || s.min_p > 0 || s.typical_p < 1 || s.epsilon > 0;
}

mx::array biased(const mx::array& logits_BV, const std::map<int32_t, float>& bias) {
  std::vector<int32_t> id;
  std::vector<float> add;
  for (const auto& [token, value] : bias) {
    id.push_back(token);
    add.push_back(value);
  }
  const int B = logits_BV.shape(0), N = static_cast<int>(id.size());
  const mx::array id_N(id.begin(), {N}, mx::int32), add_N(add.begin(), {N}, mx::float32);
  return mx::put_along_axis(
      logits_BV,
      mx::broadcast_to(mx::expand_dims(id_N, 0), {B, N}),
      mx::take(logits_BV, id_N, 1) + add_N,
      1);
}

mx::array typical(const mx::array& x_BV, float mass) {
  const mx::array logp = normalised(x_BV);
  // What is hidden has no part in the entropy, and is the least typical.
  const mx::array none = mx::equal(logp, mx::array(-INFINITY));
  const mx::array entropy =
      -mx::sum(mx::where(none, mx::array(0.0f), mx::exp(logp) * logp), -1, true);
  const mx::array away = mx::abs(logp + entropy);
  const mx::array order = mx::argsort(away, -1);
  const mx::array upto = mx::cumsum(mx::exp(mx::take_along_axis(logp, order, -1)), -1);
  const int V = x_BV.shape(1);
  const mx::array last = mx::minimum(
      mx::sum(mx::astype(mx::less(upto, mx::array(mass)), mx::int32), -1, true), mx::array(V - 1));
  const mx::array farthest =
      mx::take_along_axis(away, mx::take_along_axis(mx::astype(order, mx::int32), last, -1), -1);
  return hide(x_BV, mx::greater(away, farthest));
}

}  // namespace

mx::array edited(const mx::array& logits_BV, const Sampling& s, const Said& said) {
  const mx::array x =
      s.penalties.any() ? penalised(logits_BV, s.penalties, said.rows, *said.stop_ids) : logits_BV;
  return s.bias.empty() ? x : biased(x, s.bias);
}

mx::array filtered_logprobs(const mx::array& edited_BV, const Sampling& s) {
  mx::array x = s.temperature == 1 ? edited_BV : edited_BV / mx::array(s.temperature);
  const int V = x.shape(1);
  if (s.top_k > 0 && s.top_k < V) {
    x = hide(x, mx::less(x, mx::min(mx::topk(x, s.top_k, -1), -1, true)));
  }
  if (s.top_p < 1) {
    const mx::array order = mx::argsort(x, -1);
    const mx::array mass = mx::cumsum(mx::softmax(mx::take_along_axis(x, order, -1), -1, true), -1);
    const mx::array last = mx::equal(mx::arange(V, mx::int32), mx::array(V - 1));
    const mx::array cut =
        mx::logical_and(mx::less_equal(mass, mx::array(1 - s.top_p)), mx::logical_not(last));
    x = hide(x, mx::take_along_axis(cut, mx::argsort(order, -1), -1));
  }
  if (s.min_p > 0) {
    // p < min_p * max p, in logarithms.
    x = hide(x, mx::less(x, mx::max(x, -1, true) + mx::array(std::log(s.min_p))));
  }
  if (s.typical_p < 1) {
    x = typical(x, s.typical_p);
  }
  if (s.epsilon > 0) {
    const mx::array low = mx::less(normalised(x), mx::array(std::log(s.epsilon)));
    x = hide(x, mx::logical_and(low, mx::less(x, mx::max(x, -1, true))));
  }
  return normalised(x);
}

Draw sample(
    const mx::array& logits_BV,
    const Sampling& s,
    const mx::array& uniform_B,
    const Said& said) {
  const mx::array edited_BV = edited(logits_BV, s, said);
  if (s.temperature == 0) {
    const mx::array token = mx::astype(mx::argmax(edited_BV, -1), mx::int32);
    // A distribution of one token; where none is left, of none.
    const mx::array one = mx::zeros(token.shape(), mx::float32);
    return {
        token,
        s.edits() ? pick(edited_BV, token) * mx::array(0.0f) : one,
        pick(normalised(logits_BV), token)};
  }
  auto draw = [&](const mx::array& logits, float temperature) {
    const auto kernel = draw_fits_gpu(logits)     ? draw_gpu
                        : cpu_kernels_for(logits) ? draw_cpu
                                                  : draw_plain;
    return kernel(logits, temperature, uniform_B);
  };
  if (!filters(s) && !s.edits()) {
    const DrawnTokens d = draw(logits_BV, s.temperature);
    return {d.token, d.logprob, d.raw_logprob};
  }
  const DrawnTokens d = draw(filtered_logprobs(edited_BV, s), 1);
  return {d.token, d.logprob, pick(normalised(logits_BV), d.token)};
}

}  // namespace atelier
