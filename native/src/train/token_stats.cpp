// Shapes: T targets, C targets of one chunk, D model, V vocabulary.
#include "train/token_stats.h"

#include "kernels/product.h"
#include "kernels/token_head.h"
#include "train/chunks.h"

#include <algorithm>

namespace atelier {
namespace {

mx::array by(float scale, const mx::array& a) {
  return scale == 1 ? a : a * mx::array(scale, a.dtype());
}

mx::array f32(const mx::array& a) {
  return mx::astype(a, mx::float32);
}

// The type that a product with the head takes its other operand in.
mx::Dtype operand_of(const Weight& head) {
  return head.quantised() ? mx::float32 : head.floats().dtype();
}

mx::array scaled_logits(const mx::array& hidden_CD, const Weight& head_VD, const HeadOptions& o) {
  return by(
      1 / o.temperature,
      operand_of(head_VD) == mx::float32 ? logits_of(hidden_CD, head_VD)
                                         : head_VD.times_f32(hidden_CD));
}

// p, where it is asked for, comes in the type of the product that follows.
TokenHead token_head(
    const mx::array& logits_CV,
    const mx::array& targets_C,
    std::optional<mx::Dtype> p_type) {
  if (token_head_fits_gpu(logits_CV)) {
    return token_head_gpu(logits_CV, targets_C, p_type);
  }
  const bool with_p = p_type.has_value();
  TokenHead made = cpu_kernels_for(logits_CV) ? token_head_cpu(logits_CV, targets_C, with_p)
                                              : token_head_plain(logits_CV, targets_C, with_p);
  if (with_p) {
    made.p = mx::astype(*made.p, *p_type);
  }
  return made;
}

mx::array token_head_backward(
    const mx::array& logits_CV,
    const mx::array& targets_C,
    const TokenHead& forward,
    const TokenHeadCotangents& g) {
  return cpu_kernels_for(logits_CV) ? token_head_backward_cpu(logits_CV, targets_C, forward, g)
                                    : token_head_backward_plain(logits_CV, targets_C, forward, g);
}

// A frozen head: d log p(y) / d h is one vector a target, u = W[y] - sum_v p_v W[v], whatever the loss does
// with log p. It is made in the forward pass while the chunk's logits are there; the backward is g u and
// makes nothing again.
TokenStats frozen_head(
    const mx::array& hidden_TD,
    const Weight& head_VD,
    const mx::array& targets_T,
    const HeadOptions& o) {
  auto forward = [=](const Arrays& in) {
    Arrays logp, u, entropy;
    for_chunks(in[0].shape(0), o.chunk, {}, [&](int from, int to, const Arrays& done) -> Arrays {
      auto y = rows(targets_T, from, to);
      auto logits = scaled_logits(after(rows(in[0], from, to), done), head_VD, o);
      auto s = token_head(logits, y, operand_of(head_VD));
      logp.push_back(s.logp);
      auto mean = f32(head_VD.back(*s.p));
      if (s.p_scale) {
        mean = mean * column(*s.p_scale);
      }
      u.push_back(by(1 / o.temperature, f32(head_VD.rows(y)) - mean));
      if (!o.entropy) {
        return {logp.back(), u.back()};
      }
      entropy.push_back(s.entropy);
      return {logp.back(), u.back(), entropy.back()};
    });
    return Arrays{join(logp), join(u), join(o.entropy ? entropy : logp)};
  };
  auto backward = [](const Arrays& in, const Arrays& g, const Arrays& out) {
    return Arrays{mx::astype(column(g[0]) * out[1], in[0].dtype())};
  };
  auto out = mx::custom_vjp(forward, backward)({hidden_TD});
  TokenStats stats{out[0], std::nullopt};
  if (o.entropy) {
    stats.entropy = mx::stop_gradient(out[2]);
  }
  return stats;
}

// A trainable head, or an entropy with gradient: the backward makes each chunk's logits again, with the
// log-sum-exp kept from the forward. Every trainable array is an argument: a captured one would silently
// get no gradient.
TokenStats recomputed_head(
    const mx::array& hidden_TD,
    const Weight& head_VD,
    const mx::array& targets_T,
    const HeadOptions& o) {
  auto head_of = [o, head_VD](const Arrays& in) { return o.train_head ? Weight(in[1]) : head_VD; };
  auto forward = [=](const Arrays& in) {
    Arrays logp, entropy, lse;
    for_chunks(in[0].shape(0), o.chunk, {}, [&](int from, int to, const Arrays& done) -> Arrays {
      auto logits = scaled_logits(after(rows(in[0], from, to), done), head_of(in), o);
      auto s = token_head(logits, rows(targets_T, from, to), std::nullopt);
      logp.push_back(s.logp);
      lse.push_back(s.lse);
      if (!o.entropy) {
        return {s.logp, s.lse};
      }
      entropy.push_back(s.entropy);
      return {s.logp, s.lse, s.entropy};
    });
    return Arrays{join(logp), join(lse), join(o.entropy ? entropy : logp)};
  };
  auto backward = [=](const Arrays& in, const Arrays& g, const Arrays& out) {
    Arrays d_hidden;
    std::optional<mx::array> d_head;
    auto head = head_of(in);
    // The first chunk waits for the cotangent, so that no logits exist before the backward has begun.
    for_chunks(
        in[0].shape(0), o.chunk, {g[0]}, [&](int from, int to, const Arrays& done) -> Arrays {
          auto hidden = after(rows(in[0], from, to), done);
          TokenHead forward{
              rows(out[0], from, to), rows(out[1], from, to), rows(out[2], from, to), std::nullopt};
          TokenHeadCotangents cotangents{rows(g[0], from, to), std::nullopt};
          if (o.entropy_gradient) {
            cotangents.entropy = rows(g[2], from, to);
          }
          auto logits = scaled_logits(hidden, head, o);
          auto d = mx::astype(
              by(1 / o.temperature,
                 token_head_backward(logits, rows(targets_T, from, to), forward, cotangents)),
              operand_of(head));
          d_hidden.push_back(head.back(d));
          Arrays made{d_hidden.back()};
          if (o.train_head) {
            auto part = f32(mx::matmul(mx::transpose(d), hidden));
            d_head = d_head ? *d_head + part : part;
            made.push_back(*d_head);
          }
          return made;
        });
    Arrays result{join(d_hidden)};
    if (o.train_head) {
      result.push_back(mx::astype(*d_head, in[1].dtype()));
    }
    return result;
  };
  auto out = mx::custom_vjp(
      forward, backward)(o.train_head ? Arrays{hidden_TD, head_VD.floats()} : Arrays{hidden_TD});
  TokenStats stats{out[0], std::nullopt};
  if (o.entropy) {
    stats.entropy = o.entropy_gradient ? out[2] : mx::stop_gradient(out[2]);
  }
  return stats;
}

}  // namespace

TokenStats token_stats(
    const mx::array& hidden_TD,
    const Weight& head_VD,
    const mx::array& targets_T,
    const HeadOptions& options) {
  const bool as_they_are =
      !head_VD.quantised() && product_f32_fits_gpu(hidden_TD, head_VD.floats());
  auto hidden = as_they_are ? hidden_TD : f32(hidden_TD);
  auto head = as_they_are ? head_VD : head_VD.as(mx::float32);
  bool again =
      !options.gradient || options.train_head || (options.entropy && options.entropy_gradient);
  return again ? recomputed_head(hidden, head, targets_T, options)
               : frozen_head(hidden, head, targets_T, options);
}

int head_chunk(int vocabulary, size_t bytes) {
  size_t rows = bytes / (sizeof(float) * static_cast<size_t>(vocabulary));
  // A GPU's products are made of tiles of 128 rows.
  if (mx::default_device() == mx::Device::gpu && rows > 128) {
    rows -= rows % 128;
  }
  return static_cast<int>(std::clamp<size_t>(rows, 16, 4096));
}

}  // namespace atelier
