// Shapes: B rows, V vocabulary.
#include "kernels/draw.h"

#include "kernels/parallel.h"

#include <algorithm>
#include <cmath>

#define ATELIER_LOOPS "kernels/loops/draw.h"
#include "kernels/loops/processors.h"

namespace atelier {
namespace {

// The first token whose cumulated mass is above the aim; one of mass 0 is never chosen.
int invert(const float* mass, int V, double aim) {
  double sum = 0;
  int last = 0;
  for (int i = 0; i < V; i++) {
    if (mass[i] > 0) {
      sum += mass[i];
      last = i;
      if (sum > aim) {
        return i;
      }
    }
  }
  return last;
}

}  // namespace

DrawnTokens draw_plain(const mx::array& logits_BV, float temperature, const mx::array& uniform_B) {
  auto normalised = [](const mx::array& x) { return x - mx::logsumexp(x, -1, true); };
  const mx::array logp = normalised(logits_BV / mx::array(temperature));
  const mx::array p = mx::exp(logp), mass = mx::cumsum(p, -1);
  const int B = p.shape(0), V = p.shape(1);
  const mx::array aim = mx::expand_dims(uniform_B, 1) * mx::slice(mass, {0, V - 1}, {B, V});
  const mx::array above = mx::logical_and(mx::greater(mass, aim), mx::greater(p, mx::array(0.0f)));
  // A parallel scan need not be monotonic to the last bit: where no entry is above its aim, the likeliest is drawn.
  const mx::array token = mx::astype(
      mx::where(mx::any(above, -1), mx::argmax(above, -1), mx::argmax(p, -1)), mx::int32);
  auto pick = [&](const mx::array& x) {
    return mx::squeeze(mx::take_along_axis(x, mx::expand_dims(token, 1), 1), 1);
  };
  return {token, pick(logp), pick(normalised(logits_BV))};
}

DrawnTokens draw_cpu(const mx::array& logits_BV, float temperature, const mx::array& uniform_B) {
  CpuKernel kernel{"DrawCpu", nullptr, nullptr};
  kernel.run = [temperature](const Arrays& in, Arrays& out) {
    const int V = in[0].shape(1);
    const float *logits = in[0].data<float>(), *uniform = in[1].data<float>();
    auto* token = out[0].data<int32_t>();
    float *logprob = out[1].data<float>(), *raw = out[2].data<float>();
    parallel_for(in[0].shape(0), std::max(1, 8192 / V), [&](int begin, int end) {
      std::vector<float> mass(V);
      for (int b = begin; b < end; b++) {
        const float* x = logits + int64_t{b} * V;
        const float top = ATELIER_LOOP(greatest)(x, V), by = 1.0f / temperature;
        const double total = ATELIER_LOOP(exp_sum)(x, mass.data(), V, top, by);
        const int chosen = invert(mass.data(), V, uniform[b] * total);
        token[b] = chosen;
        logprob[b] = static_cast<float>(double{x[chosen] - top} * by - std::log(total));
        raw[b] = temperature == 1 ? logprob[b]
                                  : static_cast<float>(
                                        double{x[chosen] - top} -
                                        std::log(ATELIER_LOOP(exp_sum)(x, nullptr, V, top, 1)));
      }
    });
  };
  const int B = logits_BV.shape(0);
  const Arrays out = apply(
      kernel,
      {mx::contiguous(logits_BV), mx::contiguous(uniform_B)},
      {{B}, {B}, {B}},
      {mx::int32, mx::float32, mx::float32});
  return {out[0], out[1], out[2]};
}

}  // namespace atelier
