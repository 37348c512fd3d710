// Shapes: B rows, H query heads, K key heads, G = H / K, S slots of the cache, E head.
#include "kernels/attention.h"
#include "kernels/gpu/kernel.h"

#include <algorithm>

namespace atelier {
namespace {

// A block a row, key head and part of the slots. A group of LANES lanes reads a slot (16 bytes a lane), AT_ONCE slots
// are under way in each group, and all G queries of the key head use them. The running maximum and sum of each group
// are joined at the end; with several parts by a second kernel.
const char* parts_source = R"(
  constexpr int W = 16 / sizeof(T), LANES = E / W, GROUPS = THREADS / LANES;
  const int hk = blockIdx.x, b = blockIdx.y, part = blockIdx.z;
  const int group = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  const int end = slot[0] + 1, begin = WINDOW > 0 ? max(start[b], end - WINDOW) : start[b];
  const int each = (end - begin + PARTS - 1) / PARTS;
  const int from = begin + part * each, to = min(end, from + each);
  const T* keys = k + (size_t(b) * K + hk) * S * E + lane * W;
  const T* values = v + (size_t(b) * K + hk) * S * E + lane * W;
  float query[G][W], out[G][W], m[G], sum[G];
  for (int g = 0; g < G; g++) {
    const Pack<T, W> a = load<W>(q + (size_t(b) * H + hk * G + g) * E + lane * W);
    for (int j = 0; j < W; j++) { query[g][j] = float(a.v[j]) * as_float(SCALE); out[g][j] = 0; }
    m[g] = -INFINITY;
    sum[g] = 0;
  }
  // All lanes of a warp go round together: they exchange numbers.
  for (int base = from; base < to; base += GROUPS * AT_ONCE) {
    const int s = base + group;
    Pack<T, W> key[AT_ONCE], value[AT_ONCE];
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++) {
      const int at = min(s + u * GROUPS, to - 1);
      key[u] = load<W>(keys + size_t(at) * E);
      value[u] = load<W>(values + size_t(at) * E);
    }
#pragma unroll
    for (int g = 0; g < G; g++) {
      float score[AT_ONCE], most = m[g];
#pragma unroll
      for (int u = 0; u < AT_ONCE; u++) {
        float dot = 0;
        for (int j = 0; j < W; j++) dot += query[g][j] * float(key[u].v[j]);
        for (int o = LANES / 2; o; o >>= 1) dot += __shfl_xor_sync(~0u, dot, o);
        score[u] = s + u * GROUPS < to ? dot : -INFINITY;
        most = fmaxf(most, score[u]);
      }
      const float by = m[g] == most ? 1 : __expf(m[g] - most);   // also where nothing was seen yet
      m[g] = most;
      sum[g] *= by;
      for (int j = 0; j < W; j++) out[g][j] *= by;
#pragma unroll
      for (int u = 0; u < AT_ONCE; u++) {
        const float p = score[u] == -INFINITY ? 0 : __expf(score[u] - most);
        sum[g] += p;
        for (int j = 0; j < W; j++) out[g][j] += p * float(value[u].v[j]);
      }
    }
  }
  __shared__ float all_m[GROUPS][G], all_sum[GROUPS][G], all_out[GROUPS][G][E];
  for (int g = 0; g < G; g++) {
    if (lane == 0) { all_m[group][g] = m[g]; all_sum[group][g] = sum[g]; }
    for (int j = 0; j < W; j++) all_out[group][g][lane * W + j] = out[g][j];
  }
  __syncthreads();
  for (int n = threadIdx.x; n < G * E; n += THREADS) {
    const int g = n / E, e = n % E;
    float top = -INFINITY, total = 0, x = 0;
    for (int i = 0; i < GROUPS; i++) top = fmaxf(top, all_m[i][g]);
    for (int i = 0; i < GROUPS; i++) {
      const float by = all_m[i][g] > -INFINITY ? __expf(all_m[i][g] - top) : 0;
      total += all_sum[i][g] * by;
      x += all_out[i][g][e] * by;
    }
    const size_t row = size_t(b) * H + hk * G + g;
    if (PARTS == 1) {
      y[row * E + e] = T(x / total);
    } else {
      float* to = partial + (row * PARTS + part) * (E + 2);
      to[e] = x;
      if (e == 0) { to[E] = top; to[E + 1] = total; }
    }
  }
)";

const char* join_source = R"(
  const size_t row = blockIdx.x;
  const float* from = partial + row * PARTS * (E + 2);
  float top = -INFINITY, total = 0, x = 0;
  for (int i = 0; i < PARTS; i++) top = fmaxf(top, from[i * (E + 2) + E]);
  for (int i = 0; i < PARTS; i++) {
    const float m = from[i * (E + 2) + E], by = m > -INFINITY ? __expf(m - top) : 0;
    total += from[i * (E + 2) + E + 1] * by;
    x += from[i * (E + 2) + threadIdx.x] * by;
  }
  y[row * E + threadIdx.x] = T(x / total);
)";

// Enough blocks for a GPU of 132 multiprocessors, of at least 64 slots each.
int parts_of(int blocks, int slots) {
  return std::clamp(528 / std::max(1, blocks), 1, std::max(1, slots / 64));
}

}  // namespace

bool decode_attention_fits_gpu(const mx::array& q, const mx::array& k_cache) {
  const int E = q.shape(3), G = q.shape(1) / k_cache.shape(1);
  return gpu_kernels_for(q) && q.dtype() != mx::float32 && q.dtype() == k_cache.dtype() &&
         q.shape(2) == 1 && (E == 64 || E == 128 || E == 256) && G <= 8;
}

mx::array decode_attention_gpu(
    const mx::array& q,
    const mx::array& k_cache,
    const mx::array& v_cache,
    const mx::array& start_B,
    const mx::array& slot,
    const AttentionSpec& spec) {
  static const GpuKernel parts(
      "decode_attention", {"q", "k", "v", "start", "slot"}, {"y", "partial"}, parts_source);
  static const GpuKernel join("decode_attention_join", {"of", "partial"}, {"y"}, join_source);
  const int B = q.shape(0), H = q.shape(1), E = q.shape(3), K = k_cache.shape(1),
            S = k_cache.shape(2);
  const int P = parts_of(B * K, S);
  const Arrays out = parts(
      {q, k_cache, v_cache, start_B, slot},
      {{P == 1 ? q.shape() : mx::Shape{1}, P == 1 ? mx::Shape{1} : mx::Shape{B * H * P, E + 2}},
       {q.dtype(), mx::float32},
       {K, B, P},
       128,
       {{"H", H},
        {"K", K},
        {"G", H / K},
        {"E", E},
        {"PARTS", P},
        {"THREADS", 128},
        {"AT_ONCE", H / K > 4 ? 2 : 4},
        {"SCALE", float_bits(static_cast<float>(spec.scale))},
        {"WINDOW", spec.window}},
       {{"S", S}}});
  if (P == 1) {
    return out[0];
  }
  // T is the first input's type: q comes along for it.
  return join(
      {q, out[1]}, {{q.shape()}, {q.dtype()}, {B * H, 1, 1}, E, {{"E", E}, {"PARTS", P}}})[0];
}

}  // namespace atelier
