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
  return s.top_k > 0 || s.top_p < 1 || s.min_p > 0;
}

}  // namespace

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
    const mx::array cut =
        mx::logical_and(mx::less_equal(mass, mx::array(1 - s.top_p)), mx::logical_not(last));
    x = hide(x, mx::take_along_axis(cut, mx::argsort(order, -1), -1));
  }
  if (s.min_p > 0) {
    // p < min_p * max p, in logarithms.
    x = hide(x, mx::less(x, mx::max(x, -1, true) + mx::array(std::log(s.min_p))));
  }
  return normalised(x);
}

Draw sample(const mx::array& logits_BV, const Sampling& s, const mx::array& uniform_B) {
  if (s.temperature == 0) {
    const mx::array token = mx::astype(mx::argmax(logits_BV, -1), mx::int32);
    // A distribution of one token.
    return {token, mx::zeros(token.shape(), mx::float32), pick(normalised(logits_BV), token)};
  }
  auto draw = [&](const mx::array& logits, float temperature) {
    const auto kernel = draw_fits_gpu(logits)     ? draw_gpu
                        : cpu_kernels_for(logits) ? draw_cpu
                                                  : draw_plain;
    return kernel(logits, temperature, uniform_B);
  };
  if (!filters(s)) {
    const DrawnTokens d = draw(logits_BV, s.temperature);
    return {d.token, d.logprob, d.raw_logprob};
  }
  const DrawnTokens d = draw(filtered_logprobs(logits_BV, s), 1);
  return {d.token, d.logprob, pick(normalised(logits_BV), d.token)};
}

}  // namespace atelier
