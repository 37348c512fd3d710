// Shapes: B rows, V vocabulary.
#include "kernels/draw.h"
#include "kernels/gpu/kernel.h"

namespace atelier {
namespace {

// What is not a number stays one, in the log-probabilities. A block a row; a warp sums segments of LENGTH numbers, each
// under its own maximum. Then the segment and in it the token are found where the cumulated mass passes the aim: the
// first of its kind, as draw_plain's.
const char* source = R"(
  constexpr int SEGMENTS = (V + LENGTH - 1) / LENGTH;
  __shared__ float room[32], top_of[SEGMENTS], sum_of[SEGMENTS];
  __shared__ int chosen;
  __shared__ float before;
  const float* row = l + size_t(blockIdx.x) * V;
  const float by = as_float(INVERSE_TEMPERATURE);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = THREADS / 32;
  float most = -INFINITY, raw = 0;   // raw: sum of e^(x - most), a thread's own
  for (int g = warp; g < SEGMENTS; g += warps) {
    const int from = g * LENGTH;
    float x[LENGTH / 32];
    float m = -INFINITY;
    for (int k = 0; k < LENGTH / 128; k++) {
      const int i = from + (k * 32 + lane) * 4;
      Pack<float, 4> a;
      if (i < V) a = load<4>(row + i);
      for (int j = 0; j < 4; j++) {
        x[k * 4 + j] = i < V ? a.v[j] : -INFINITY;
        m = fmaxf(m, x[k * 4 + j]);
      }
    }
    m = warp_max(m);
    float sum = 0;
    for (int k = 0; k < LENGTH / 32; k++) sum += x[k] == -INFINITY ? 0 : __expf((x[k] - m) * by);
    sum = warp_sum(sum);
    if (!ONE) {
      const float higher = fmaxf(most, m);
      raw = raw == 0 ? 0 : raw * __expf(most - higher);
      for (int k = 0; k < LENGTH / 32; k++) raw += x[k] == -INFINITY ? 0 : __expf(x[k] - higher);
      most = higher;
    }
    if (lane == 0) { top_of[g] = m; sum_of[g] = sum; }
  }
  if (!ONE) {
    const float all = block_max(most, room);
    raw = block_sum(raw == 0 ? 0 : raw * __expf(most - all), room);
    most = all;
  }
  __syncthreads();
  float m = -INFINITY;
  for (int g = threadIdx.x; g < SEGMENTS; g += THREADS) m = fmaxf(m, top_of[g]);
  const float top = block_max(m, room);
  float part = 0;
  for (int g = threadIdx.x; g < SEGMENTS; g += THREADS) {
    sum_of[g] = sum_of[g] == 0 ? 0 : sum_of[g] * __expf((top_of[g] - top) * by);
    part += sum_of[g];
  }
  const float total = block_sum(part, room);   // of rounding alone: the scan below has the last word
  __syncthreads();
  if (warp == 0) {
    // A lane sums EACH segments in a row; where its own begin follows from the lanes before it.
    constexpr int EACH = (SEGMENTS + 31) / 32;
    const int begin = lane * EACH;
    double own = 0;
    for (int g = begin; g < min(begin + EACH, SEGMENTS); g++) own += sum_of[g];
    double upto = own;
    for (int o = 1; o < 32; o <<= 1) {
      const double n = __shfl_up_sync(~0u, upto, o);
      if (lane >= o) upto += n;
    }
    const double aim = double(u[blockIdx.x]) * __shfl_sync(~0u, upto, 31);
    double mass = upto - own, left = 0;
    int found = -1, last = -1;
    for (int g = begin; g < min(begin + EACH, SEGMENTS); g++) {
      if (sum_of[g] > 0) {
        last = g;
        if (found < 0) {
          left = aim - mass;   // of the last with mass, where none is passed
          if (mass + sum_of[g] > aim) found = g;
        }
      }
      mass += sum_of[g];
    }
    const unsigned passed = __ballot_sync(~0u, found >= 0), some = __ballot_sync(~0u, last >= 0);
    if (lane == (passed ? __ffs(passed) - 1 : some ? 31 - __clz(some) : 0)) {
      chosen = passed ? found : max(last, 0);
      before = float(left);
    }
  }
  __syncthreads();
  if (warp == 0) {
    // `before`: what is left of the aim inside the segment.
    float mass = 0;
    int token = -1, last = -1;
    for (int k = 0; k < LENGTH / 32 && token < 0; k++) {
      const int i = chosen * LENGTH + k * 32 + lane;
      const float x = i < V ? row[i] : -INFINITY;
      const float e = x > -INFINITY ? __expf((x - top) * by) : 0;
      float upto = e;
      for (int o = 1; o < 32; o <<= 1) {
        const float n = __shfl_up_sync(~0u, upto, o);
        if (lane >= o) upto += n;
      }
      const unsigned above = __ballot_sync(~0u, e > 0 && mass + upto > before);
      const unsigned some = __ballot_sync(~0u, e > 0);
      if (some) last = chosen * LENGTH + k * 32 + 31 - __clz(some);
      if (above) token = chosen * LENGTH + k * 32 + __ffs(above) - 1;
      mass += __shfl_sync(~0u, upto, 31);
    }
    if (lane == 0) {
      const int t = token >= 0 ? token : max(last, 0);
      token_out[blockIdx.x] = t;
      const float at = (row[t] - top) * by - logf(total);
      logp[blockIdx.x] = at;
      raw_logp[blockIdx.x] = ONE ? at : row[t] - most - logf(raw);
    }
  }
)";

constexpr int threads = 512, length = 1024;

}  // namespace

bool draw_fits_gpu(const mx::array& logits_BV) {
  return gpu_kernels_for(logits_BV) && logits_BV.dtype() == mx::float32 &&
         logits_BV.shape(1) % 4 == 0 && logits_BV.shape(1) <= 2048 * length;
}

DrawnTokens draw_gpu(const mx::array& logits_BV, float temperature, const mx::array& uniform_B) {
  static const GpuKernel kernel("draw", {"l", "u"}, {"token_out", "logp", "raw_logp"}, source);
  const int B = logits_BV.shape(0), V = logits_BV.shape(1);
  const Arrays out = kernel(
      {logits_BV, uniform_B},
      {{{B}, {B}, {B}},
       {mx::int32, mx::float32, mx::float32},
       {B, 1, 1},
       threads,
       {{"V", V},
        {"THREADS", threads},
        {"LENGTH", length},
        {"ONE", temperature == 1},
        {"INVERSE_TEMPERATURE", float_bits(1.0f / temperature)}}});
  return {out[0], out[1], out[2]};
}

}  // namespace atelier
