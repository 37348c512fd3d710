// Shapes: B rows, V vocabulary.
#include "infer/sampler.h"

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
  return s.top_k > 0 || s.top_p < 1 || s.min_p > 0;
}

} // namespace

mx::array filtered_logprobs(const mx::array& logits_BV, const Sampling& s) {
  mx::array x = s.temperature == 1 ? logits_BV : logits_BV / mx::array(s.temperature);
  const int V = x.shape(1);
  if (s.top_k > 0 && s.top_k < V) {
    x = hide(x, mx::less(x, mx::min(mx::topk(x, s.top_k, -1), -1, true)));
  }
  if (s.top_p < 1) {
    const mx::array order = mx::argsort(x, -1);
    const mx::array mass = mx::cumsum(mx::softmax(mx::take_along_axis(x, order, -1), -1, true), -1);
    const mx::array last = mx::equal(mx::arange(V, mx::int32), mx::array(V - 1));
    const mx::array cut = mx::logical_and(mx::less_equal(mass, mx::array(1 - s.top_p)), mx::logical_not(last));
    x = hide(x, mx::take_along_axis(cut, mx::argsort(order, -1), -1));
  }
  if (s.min_p > 0) {
    // p < min_p * max p, in logarithms.
    x = hide(x, mx::less(x, mx::max(x, -1, true) + mx::array(std::log(s.min_p))));
  }
  return normalised(x);
}

Draw sample(const mx::array& logits_BV, const Sampling& s, const mx::array& uniform_B) {
  const mx::array raw = normalised(logits_BV);
  if (s.temperature == 0) {
    const mx::array token = mx::astype(mx::argmax(logits_BV, -1), mx::int32);
    // A distribution of one token.
    return {token, mx::zeros(token.shape(), mx::float32), pick(raw, token)};
  }
  const bool plain = s.temperature == 1 && !filters(s);
  const mx::array logp = plain ? raw : filtered_logprobs(logits_BV, s);
  const mx::array p = mx::exp(logp);
  const mx::array mass = mx::cumsum(p, -1);
  const int B = p.shape(0), V = p.shape(1);
  const mx::array aim = mx::expand_dims(uniform_B, 1) * mx::slice(mass, {0, V - 1}, {B, V});
  // The first token whose cumulated mass is above the aim. A scan that rounds must not choose one of mass 0.
  const mx::array above = mx::logical_and(mx::greater(mass, aim), mx::greater(p, mx::array(0.0f)));
  const mx::array token = mx::astype(mx::argmax(above, -1), mx::int32);
  const mx::array raw_logprob = pick(raw, token);
  return {token, plain ? raw_logprob : pick(logp, token), raw_logprob};
}

} // namespace atelier
