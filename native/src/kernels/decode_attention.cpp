// Shapes: B batch, H query heads, K key heads, S slots, E head.
#include "kernels/attention.h"
#include "kernels/parallel.h"

#include <algorithm>
#include <cmath>

#define ATELIER_LOOPS "kernels/loops/decode_attention.h"
#include "kernels/loops/processors.h"

namespace atelier {
namespace {}  // namespace

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
      std::vector<float> scores(S + most_lanes);
      for (int n = begin; n < end; n++) {
        const int b = n / H, head = n % H / (H / K);
        ATELIER_LOOP(attend)(
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
