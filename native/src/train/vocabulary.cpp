#include "train/vocabulary.h"

#include "train/chunks.h"

#include <optional>

namespace atelier {
namespace {

// A frozen head: the gradient by a target's hidden state is one vector, whatever the loss does with the value. It is
// made in the forward pass while the chunk's logits are there; the backward makes nothing again.
mx::array frozen_head(
    const mx::array& hidden_TD,
    const Weight& head_VD,
    const VocabularyOptions& o,
    const TokenFunction& of) {
  auto forward = [=](const Arrays& in) {
    Arrays value, u;
    for_chunks(in[0].shape(0), o.chunk, {}, [&](int from, int to, const Arrays& done) -> Arrays {
      auto v = of(logits_of(after(rows(in[0], from, to), done), head_VD), from, to);
      value.push_back(v.value_C);
      if (!o.gradient) {
        return {v.value_C};
      }
      u.push_back(head_VD.back(v.by_logits_CV));
      return {v.value_C, u.back()};
    });
    return Arrays{join(value), o.gradient ? join(u) : join(value)};
  };
  auto backward = [](const Arrays&, const Arrays& g, const Arrays& out) {
    return Arrays{column(g[0]) * out[1]};
  };
  return mx::custom_vjp(forward, backward)({hidden_TD})[0];
}

// A trainable head: the backward makes each chunk's logits again. The head is an argument: a captured one would
// silently get no gradient.
mx::array trained_head(
    const mx::array& hidden_TD,
    const Weight& head_VD,
    const VocabularyOptions& o,
    const TokenFunction& of) {
  auto forward = [=](const Arrays& in) {
    Arrays value;
    for_chunks(in[0].shape(0), o.chunk, {}, [&](int from, int to, const Arrays& done) -> Arrays {
      value.push_back(of(logits_of(after(rows(in[0], from, to), done), in[1]), from, to).value_C);
      return {value.back()};
    });
    return Arrays{join(value)};
  };
  auto backward = [=](const Arrays& in, const Arrays& g, const Arrays&) {
    Arrays d_hidden;
    std::optional<mx::array> d_head;
    for_chunks(
        in[0].shape(0), o.chunk, {g[0]}, [&](int from, int to, const Arrays& done) -> Arrays {
          auto hidden = after(rows(in[0], from, to), done);
          auto d =
              column(rows(g[0], from, to)) * of(logits_of(hidden, in[1]), from, to).by_logits_CV;
          d_hidden.push_back(mx::matmul(d, in[1]));
          auto part = mx::matmul(mx::transpose(d), hidden);
          d_head = d_head ? *d_head + part : part;
          return {d_hidden.back(), *d_head};
        });
    return Arrays{join(d_hidden), *d_head};
  };
  return mx::custom_vjp(forward, backward)({hidden_TD, head_VD.floats()})[0];
}

}  // namespace

mx::array over_vocabulary(
    const mx::array& hidden_TD,
    const Weight& head_VD,
    const VocabularyOptions& options,
    const TokenFunction& of) {
  auto hidden = mx::astype(hidden_TD, mx::float32);
  auto head = head_VD.as(mx::float32);
  return options.train_head && options.gradient ? trained_head(hidden, head, options, of)
                                                : frozen_head(hidden, head, options, of);
}

TokenValue mean_logp(const mx::array& logits_CV) {
  auto lse_C = mx::logsumexp(logits_CV, -1);
  auto p = mx::exp(logits_CV - column(lse_C));
  float each = 1.0f / static_cast<float>(logits_CV.shape(-1));
  return {mx::mean(logits_CV, -1) - lse_C, mx::array(each) - p};
}

mx::array mean_logit(const mx::array& hidden_TD, const Weight& head_VD) {
  const float each = 1.0f / static_cast<float>(head_VD.out());
  auto mean_1D = head_VD.as(mx::float32).back(mx::full({1, head_VD.out()}, each));
  return mx::squeeze(mx::matmul(hidden_TD, mx::transpose(mean_1D)), 1);
}

TokenValue log_sum_sq_probs(const mx::array& logits_CV) {
  auto two = mx::array(2.0f);
  auto value = mx::logsumexp(logits_CV * two, -1) - mx::logsumexp(logits_CV, -1) * two;
  return {value, mx::zeros_like(logits_CV)};
}

TokenValue is_correct(const mx::array& logits_CV, const mx::array& targets_C) {
  auto best = mx::astype(mx::argmax(logits_CV, -1), mx::int32);
  return {mx::astype(mx::equal(best, targets_C), mx::float32), mx::zeros_like(logits_CV)};
}

}  // namespace atelier
