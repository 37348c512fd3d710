// Shapes: T targets, C targets of one chunk, D model, V vocabulary.
#include "train/token_stats.h"

#include <algorithm>

namespace atelier {
namespace {

using Arrays = std::vector<mx::array>;

mx::array rows(const mx::array& a, int from, int to) {
  mx::Shape start(a.ndim(), 0), stop = a.shape();
  start[0] = from;
  stop[0] = to;
  return mx::slice(a, start, stop);
}

mx::array join(const Arrays& parts) {
  return parts.size() == 1 ? parts[0] : mx::concatenate(parts, 0);
}

mx::array column(const mx::array& a_C) {
  return mx::expand_dims(a_C, 1);
}

// Independent chunks would be evaluated breadth first, all their logits alive at once: each chunk's input
// depends on the results of the chunk before.
mx::array after(const mx::array& a, const Arrays& done) {
  return done.empty() ? a : mx::depends({a}, done)[0];
}

template <class Chunk>
void for_chunks(int targets, int chunk, Arrays done, Chunk&& body) {
  for (int from = 0; from < targets; from += chunk) {
    done = body(from, std::min(targets, from + chunk), done);
  }
}

struct ChunkStats {
  mx::array logits_CV, lse_C, logp_C;
};

ChunkStats chunk_stats(const mx::array& hidden_CD, const mx::array& head_VD, const mx::array& targets_C) {
  auto logits = mx::matmul(hidden_CD, mx::transpose(head_VD));
  auto lse = mx::logsumexp(logits, -1);
  auto target = mx::squeeze(mx::take_along_axis(logits, column(targets_C), 1), 1);
  return {logits, lse, target - lse};
}

mx::array probabilities(const ChunkStats& s) {
  return mx::exp(s.logits_CV - column(s.lse_C));
}

// A frozen head: d log p(y) / d h is one vector a target, u = W[y] - sum_v p_v W[v], whatever the loss does
// with log p. It is made in the forward pass while the chunk's logits are there; the backward is g u and
// makes nothing again. The entropy follows: sum_v p_v l_v = l_y - h.u, so H = h.u - log p.
TokenStats frozen_head(const mx::array& hidden_TD, const mx::array& head_VD, const mx::array& targets_T, const HeadOptions& o) {
  auto forward = [=](const Arrays& in) {
    Arrays logp, u;
    for_chunks(in[0].shape(0), o.chunk, {}, [&](int from, int to, const Arrays& done) -> Arrays {
      auto y = rows(targets_T, from, to);
      auto s = chunk_stats(after(rows(in[0], from, to), done), head_VD, y);
      logp.push_back(s.logp_C);
      u.push_back(mx::take(head_VD, y, 0) - mx::matmul(probabilities(s), head_VD));
      return {logp.back(), u.back()};
    });
    return Arrays{join(logp), join(u)};
  };
  auto backward = [](const Arrays&, const Arrays& g, const Arrays& out) { return Arrays{column(g[0]) * out[1]}; };
  auto out = mx::custom_vjp(forward, backward)({hidden_TD});
  TokenStats stats{out[0], std::nullopt};
  if (o.entropy) {
    auto u = mx::stop_gradient(out[1]);
    stats.entropy = mx::sum(mx::stop_gradient(hidden_TD) * u, -1) - mx::stop_gradient(out[0]);
  }
  return stats;
}

// A trainable head, or an entropy with gradient: the backward makes each chunk's logits again, with the
// log-sum-exp kept from the forward. Every trainable array is an argument: a captured one would silently
// get no gradient.
TokenStats recomputed_head(const mx::array& hidden_TD, const mx::array& head_VD, const mx::array& targets_T, const HeadOptions& o) {
  auto head_of = [o, head_VD](const Arrays& in) { return o.train_head ? in[1] : head_VD; };
  auto forward = [=](const Arrays& in) {
    Arrays logp, entropy, lse;
    for_chunks(in[0].shape(0), o.chunk, {}, [&](int from, int to, const Arrays& done) -> Arrays {
      auto s = chunk_stats(after(rows(in[0], from, to), done), head_of(in), rows(targets_T, from, to));
      logp.push_back(s.logp_C);
      lse.push_back(s.lse_C);
      if (!o.entropy) {
        return {s.logp_C, s.lse_C};
      }
      entropy.push_back(s.lse_C - mx::sum(probabilities(s) * s.logits_CV, -1));
      return {s.logp_C, s.lse_C, entropy.back()};
    });
    return Arrays{join(logp), join(lse), o.entropy ? join(entropy) : mx::zeros_like(targets_T)};
  };
  auto backward = [=](const Arrays& in, const Arrays& g, const Arrays& out) {
    Arrays d_hidden;
    std::optional<mx::array> d_head;
    auto head = head_of(in);
    auto ids_V = mx::arange(head.shape(0), mx::int32);
    // The first chunk waits for the cotangent, so that no logits exist before the backward has begun.
    for_chunks(in[0].shape(0), o.chunk, {g[0]}, [&](int from, int to, const Arrays& done) -> Arrays {
      auto hidden = after(rows(in[0], from, to), done);
      auto log_p = mx::matmul(hidden, mx::transpose(head)) - column(rows(out[1], from, to));
      auto p = mx::exp(log_p);
      auto hit = mx::equal(ids_V, column(rows(targets_T, from, to)));
      auto d = column(rows(g[0], from, to)) * (mx::where(hit, mx::array(1.0f), mx::array(0.0f)) - p);
      if (o.entropy_gradient) {
        d = d - column(rows(g[2], from, to)) * p * (log_p + column(rows(out[2], from, to)));
      }
      d_hidden.push_back(mx::matmul(d, head));
      Arrays made{d_hidden.back()};
      if (o.train_head) {
        auto part = mx::matmul(mx::transpose(d), hidden);
        d_head = d_head ? *d_head + part : part;
        made.push_back(*d_head);
      }
      return made;
    });
    Arrays result{join(d_hidden)};
    if (o.train_head) {
      result.push_back(*d_head);
    }
    return result;
  };
  auto out = mx::custom_vjp(forward, backward)(o.train_head ? Arrays{hidden_TD, head_VD} : Arrays{hidden_TD});
  TokenStats stats{out[0], std::nullopt};
  if (o.entropy) {
    stats.entropy = o.entropy_gradient ? out[2] : mx::stop_gradient(out[2]);
  }
  return stats;
}

} // namespace

TokenStats token_stats(
    const mx::array& hidden_TD,
    const mx::array& head_VD,
    const mx::array& targets_T,
    const HeadOptions& options) {
  auto hidden = mx::astype(hidden_TD, mx::float32);
  auto head = mx::astype(head_VD, mx::float32);
  if (options.temperature != 1.0f) {
    hidden = hidden * mx::array(1.0f / options.temperature);
  }
  bool again = options.train_head || (options.entropy && options.entropy_gradient);
  return again ? recomputed_head(hidden, head, targets_T, options)
               : frozen_head(hidden, head, targets_T, options);
}

int head_chunk(int vocabulary, size_t bytes) {
  size_t rows = bytes / (sizeof(float) * static_cast<size_t>(vocabulary));
  return static_cast<int>(std::clamp<size_t>(rows, 16, 4096));
}

} // namespace atelier
