// Shapes: B batch, H query heads, K key heads, S slots, E head.
#include "kernels/attention.h"
#include "kernels/parallel.h"
#include "kernels/vec.h"

#include <algorithm>
#include <cmath>

namespace atelier {
namespace {

// One query head. k, v: slots of E numbers each, `step` apart. scores: room for S rounded up to whole lanes.
ATELIER_CLONES void attend(
    const float* q,
    const float* k,
    const float* v,
    int64_t step_k,
    int64_t step_v,
    int from,
    int S,
    int E,
    float scale,
    float* scores,
    float* out) {
  float top = -INFINITY;
  for (int s = from; s < S; s++) {
    const float* at = k + s * step_k;
    vec::F a, b, total{};
    int i = 0;
    for (; i + vec::lanes <= E; i += vec::lanes) {
      vec::load(a, q + i);
      vec::load(b, at + i);
      total += a * b;
    }
    float dot = vec::sum(total);
    for (; i < E; i++) {
      dot += q[i] * at[i];
    }
    scores[s] = dot * scale;
    top = scores[s] > top ? scores[s] : top;
  }
  vec::F a, b, total{};
  for (int s = from; s < S; s += vec::lanes) {
    const int n = std::min(vec::lanes, S - s);
    vec::load_part(a, scores + s, n, -INFINITY);
    a = a - top;
    vec::exp(a);
    total += a;
    vec::store_part(scores + s, a, n);
  }
  const float inverse = 1.0f / vec::sum(total);
  int i = 0;
  for (; i + vec::lanes <= E; i += vec::lanes) {
    vec::F sum{};
    for (int s = from; s < S; s++) {
      vec::load(b, v + s * step_v + i);
      sum += b * scores[s];
    }
    vec::store(out + i, sum * inverse);
  }
  for (; i < E; i++) {
    float sum = 0;
    for (int s = from; s < S; s++) {
      sum += v[s * step_v + i] * scores[s];
    }
    out[i] = sum * inverse;
  }
}

}  // namespace

mx::array decode_attention_cpu(
    const mx::array& q,
    const mx::array& k,
    const mx::array& v,
    const AttentionSpec& spec) {
  CpuKernel kernel{"DecodeAttentionCpu", nullptr, nullptr};
  kernel.run = [spec](const Arrays& in, Arrays& out) {
    const mx::array &q = in[0], &k = in[1], &v = in[2];
    const int H = q.shape(1), E = q.shape(3), K = k.shape(1), S = k.shape(2);
    const auto scale = static_cast<float>(spec.scale);
    const int seen = spec.window > 0 ? std::max(0, S - spec.window) : 0;
    const float *pq = q.data<float>(), *pk = k.data<float>(), *pv = v.data<float>();
    float* to = out[0].data<float>();
    const int grain = std::max(1, 16384 / (S * E));
    parallel_for(q.shape(0) * H, grain, [&](int begin, int end) {
      std::vector<float> scores(S + vec::lanes);
      for (int n = begin; n < end; n++) {
        const int b = n / H, head = n % H / (H / K);
        attend(
            pq + int64_t{n} * E,
            pk + b * k.strides(0) + head * k.strides(1),
            pv + b * v.strides(0) + head * v.strides(1),
            k.strides(2),
            v.strides(2),
            spec.start.empty() ? seen : std::max(seen, int{spec.start[b]}),
            S,
            E,
            scale,
            scores.data(),
            to + int64_t{n} * E);
      }
    });
  };
  // Views of the cache are read in place as long as a head's numbers lie side by side, which they do.
  return apply(kernel, {mx::contiguous(q), k, v}, {q.shape()})[0];
}

}  // namespace atelier
