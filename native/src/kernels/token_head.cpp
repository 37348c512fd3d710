// C targets of one chunk, V vocabulary.
#include "kernels/token_head.h"

#include "kernels/parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>

#define ATELIER_LOOPS "kernels/loops/token_head.h"
#include "kernels/loops/processors.h"

namespace atelier {
namespace {

mx::array column(const mx::array& a_C) {
  return mx::expand_dims(a_C, 1);
}

int rows_at_once(int V) {
  return std::max(1, 16384 / V);
}

}  // namespace

TokenHead token_head_plain(const mx::array& logits, const mx::array& targets, bool with_p) {
  auto lse = mx::logsumexp(logits, -1);
  auto log_p = logits - column(lse);
  auto p = mx::exp(log_p);
  auto logp = mx::squeeze(mx::take_along_axis(logits, column(targets), 1), 1) - lse;
  auto entropy = -mx::sum(p * log_p, -1);
  return {logp, lse, entropy, with_p ? std::optional(p) : std::nullopt};
}

TokenHead token_head_cpu(const mx::array& logits, const mx::array& targets, bool with_p) {
  const int C = logits.shape(0), V = logits.shape(1);
  CpuKernel kernel;
  kernel.name = "TokenHead";
  kernel.run = [C, V](const Arrays& in, Arrays& out) {
    const float* logits = in[0].data<float>();
    const int32_t* targets = in[1].data<int32_t>();
    float *logp = out[0].data<float>(), *lse = out[1].data<float>(),
          *entropy = out[2].data<float>();
    float* p = out.size() > 3 ? out[3].data<float>() : nullptr;
    parallel_for(C, rows_at_once(V), [&](int begin, int end) {
      for (int c = begin; c < end; c++) {
        const float* l = logits + static_cast<size_t>(c) * V;
        float* p_row = p ? p + static_cast<size_t>(c) * V : nullptr;
        const float m = ATELIER_LOOP(row_max)(l, V);
        float sum, weighted;
        ATELIER_LOOP(row_sums)(l, V, m, p_row, &sum, &weighted);
        lse[c] = m + std::log(sum);
        logp[c] = l[targets[c]] - lse[c];
        entropy[c] = std::log(sum) - weighted / sum;
        if (p_row) {
          ATELIER_LOOP(row_scale)(p_row, V, 1.0f / sum);
        }
      }
    });
  };
  std::vector<mx::Shape> shapes{{C}, {C}, {C}};
  if (with_p) {
    shapes.push_back({C, V});
  }
  auto out = apply(std::move(kernel), {mx::contiguous(logits), mx::contiguous(targets)}, shapes);
  return {out[0], out[1], out[2], with_p ? std::optional(out[3]) : std::nullopt};
}

mx::array token_head_backward_plain(
    const mx::array& logits,
    const mx::array& targets,
    const TokenHead& forward,
    const TokenHeadCotangents& g) {
  auto log_p = logits - column(forward.lse);
  auto p = mx::exp(log_p);
  auto hit = mx::equal(mx::arange(logits.shape(1), mx::int32), column(targets));
  auto d = column(g.logp) * (mx::where(hit, mx::array(1.0f), mx::array(0.0f)) - p);
  return g.entropy ? d - column(*g.entropy) * p * (log_p + column(forward.entropy)) : d;
}

mx::array token_head_backward_cpu(
    const mx::array& logits,
    const mx::array& targets,
    const TokenHead& forward,
    const TokenHeadCotangents& g) {
  const int C = logits.shape(0), V = logits.shape(1);
  CpuKernel kernel;
  kernel.name = "TokenHeadBackward";
  kernel.run = [C, V](const Arrays& in, Arrays& out) {
    const float* logits = in[0].data<float>();
    const int32_t* targets = in[1].data<int32_t>();
    const float *lse = in[2].data<float>(), *g = in[3].data<float>();
    const float* entropy = in.size() > 4 ? in[4].data<float>() : nullptr;
    const float* h = in.size() > 4 ? in[5].data<float>() : nullptr;
    float* d = out[0].data<float>();
    parallel_for(C, rows_at_once(V), [&](int begin, int end) {
      for (int c = begin; c < end; c++) {
        const size_t at = static_cast<size_t>(c) * V;
        ATELIER_LOOP(row_backward)(
            logits + at, V, lse[c], g[c], h ? h[c] : 0.0f, h ? entropy[c] : 0.0f, d + at);
        d[at + targets[c]] += g[c];
      }
    });
  };
  Arrays in{
      mx::contiguous(logits),
      mx::contiguous(targets),
      mx::contiguous(forward.lse),
      mx::contiguous(g.logp)};
  if (g.entropy) {
    in.push_back(mx::contiguous(forward.entropy));
    in.push_back(mx::contiguous(*g.entropy));
  }
  return apply(std::move(kernel), std::move(in), {{C, V}})[0];
}

}  // namespace atelier
