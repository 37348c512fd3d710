// Shapes: B batch, R rows (queries of all heads), L queries, S slots.
#include "kernels/softmax.h"

#include "kernels/parallel.h"
#include "kernels/vec.h"

#include <algorithm>
#include <cmath>

namespace atelier {
namespace {

ATELIER_CLONES void forward(const float* x, float* y, int from, int to, int S, float scale) {
  std::fill(y, y + from, 0.0f);
  std::fill(y + to, y + S, 0.0f);
  vec::F a, best = vec::F{} - INFINITY;
  int i = from;
  for (; i + vec::lanes <= to; i += vec::lanes) {
    vec::load(a, x + i);
    best = a > best ? a : best;
  }
  vec::load_part(a, x + i, to - i, -INFINITY);
  best = a > best ? a : best;
  const float top = vec::max(best) * scale;
  vec::F total{};
  for (i = from; i + vec::lanes <= to; i += vec::lanes) {
    vec::load(a, x + i);
    a = a * scale - top;
    vec::exp(a);
    total += a;
    vec::store(y + i, a);
  }
  if (i < to) {
    vec::load_part(a, x + i, to - i, -INFINITY);
    a = a * scale - top;
    vec::exp(a);
    total += a;
    vec::store_part(y + i, a, to - i);
  }
  const float inverse = 1.0f / vec::sum(total);
  for (i = from; i < to; i++) {
    y[i] *= inverse;
  }
}

// dx = scale * y (g - sum(g y)).
ATELIER_CLONES void backward(const float* y, const float* g, float* dx, int from, int to, int S, float scale) {
  std::fill(dx, dx + from, 0.0f);
  std::fill(dx + to, dx + S, 0.0f);
  vec::F a, b, total{};
  int i = from;
  for (; i + vec::lanes <= to; i += vec::lanes) {
    vec::load(a, y + i);
    vec::load(b, g + i);
    total += a * b;
  }
  vec::load_part(a, y + i, to - i, 0);
  vec::load_part(b, g + i, to - i, 0);
  total += a * b;
  const float dot = vec::sum(total);
  for (i = from; i < to; i++) {
    dx[i] = scale * y[i] * (g[i] - dot);
  }
}

struct Span {
  int L, S, per_row;
  const std::vector<int32_t>& start;

  Span(const mx::array& x, const std::vector<int32_t>& start)
      : L(x.shape(-2)), S(x.shape(-1)), per_row(static_cast<int>(x.size() / x.shape(-1) / x.shape(0))), start(start) {}

  int rows(const mx::array& x) const {
    return static_cast<int>(x.size() / S);
  }
  int grain() const {
    return std::max(1, 16384 / S);
  }
  std::pair<int, int> operator()(int row) const {
    const int to = S - L + row % L + 1;
    return {start.empty() ? 0 : std::min(start[row / per_row], to - 1), to};
  }
};

} // namespace

mx::array causal_softmax_plain(const mx::array& scores, float scale, const std::vector<int32_t>& start) {
  const int L = scores.shape(-2), S = scores.shape(-1);
  const mx::array slot = mx::arange(S, mx::int32);
  const mx::array query = mx::expand_dims(mx::arange(S - L, S, mx::int32), 1);
  mx::array seen = mx::less_equal(slot, query);
  if (!start.empty()) {
    mx::Shape shape(scores.ndim(), 1);
    shape[0] = scores.shape(0);
    const mx::array begun = mx::greater_equal(slot, mx::array(start.begin(), shape, mx::int32));
    seen = mx::logical_or(mx::logical_and(seen, begun), mx::equal(slot, query));
  }
  const mx::array x = scores * mx::array(scale, scores.dtype());
  return mx::softmax(mx::where(seen, x, mx::array(-INFINITY, x.dtype())), -1, true);
}

mx::array causal_softmax_cpu(const mx::array& scores, float scale, const std::vector<int32_t>& start) {
  CpuKernel kernel{"CausalSoftmaxCpu", nullptr, nullptr};
  kernel.run = [scale, start](const Arrays& in, Arrays& out) {
    const Span span(in[0], start);
    const float* x = in[0].data<float>();
    float* y = out[0].data<float>();
    parallel_for(span.rows(in[0]), span.grain(), [&](int begin, int end) {
      for (int r = begin; r < end; r++) {
        const auto [from, to] = span(r);
        forward(x + int64_t{r} * span.S, y + int64_t{r} * span.S, from, to, span.S, scale);
      }
    });
  };
  kernel.vjp = [scale, start](const Arrays&, const Arrays& g, const Arrays& out, const std::vector<int>&) {
    CpuKernel grad{"CausalSoftmaxCpuVjp", nullptr, nullptr};
    grad.run = [scale, start](const Arrays& in, Arrays& out) {
      const Span span(in[0], start);
      const float *y = in[0].data<float>(), *g = in[1].data<float>();
      float* dx = out[0].data<float>();
      parallel_for(span.rows(in[0]), span.grain(), [&](int begin, int end) {
        for (int r = begin; r < end; r++) {
          const auto [from, to] = span(r);
          const int64_t at = int64_t{r} * span.S;
          backward(y + at, g + at, dx + at, from, to, span.S, scale);
        }
      });
    };
    return apply(grad, {out[0], mx::contiguous(g[0])}, {out[0].shape()});
  };
  return apply(kernel, {mx::contiguous(scores)}, {scores.shape()})[0];
}

} // namespace atelier
