// Shapes: B rows, H query heads, K key heads, G = H / K, S slots of the cache, E head.
#include "kernels/attention.h"
#include "kernels/gpu/compile.h"
#include "kernels/gpu/decode_lines.h"
#include "kernels/gpu/decode_source.h"
#include "kernels/gpu/kernel.h"

#include <algorithm>

namespace atelier {
namespace {

// A block a row, key head and part of the slots. A group of LANES lanes reads a slot (16 bytes a lane), AT_ONCE slots
// are under way in each group, and all G queries of the key head use them. The running maximum and sum of each group
// are joined at the end, and those of several parts by the block that is done last.
const char* begin_source = R"(
  constexpr int W = 16 / sizeof(T), LANES = E / W, GROUPS = THREADS / LANES, WARPS = THREADS / 32;
  const int hk = blockIdx.x, b = blockIdx.y, part = blockIdx.z;
  const int group = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  const int end = slot[0] + 1, begin = WINDOW > 0 ? max(start[b], end - WINDOW) : start[b];
  const int each = (end - begin + PARTS - 1) / PARTS;
  const int from = begin + part * each, to = min(end, from + each);
  const T* keys = k + (size_t(b) * K + hk) * S * E + lane * W;
  const T* values = v + (size_t(b) * K + hk) * S * E + lane * W;
  // Slots before `shared` are read in another row, at the same time as by that and its other copies: once from memory.
  const int shared = alike[2 * b + 1];
  const int64_t away = (int64_t(alike[2 * b]) - b) * K * S * E;
  float query[G][W], out[G][W], m[G], sum[G];
  Pack<T, W> key[AT_ONCE], value[AT_ONCE];
  // Past the L1 cache, since nobody reads them again, and right here (volatile): the compiler puts them off.
  auto read = [&](Pack<T, W>* to_read, const T* of, int s) {
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++) {
      Words& x = reinterpret_cast<Words&>(to_read[u]);
      const int at = min(s + u * GROUPS, to - 1);
      asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x.a), "=r"(x.b), "=r"(x.c), "=r"(x.d)
                   : "l"(of + size_t(at) * E + (at < shared ? away : 0)));
    }
  };
  auto ask = [&](const T* of) {
    for (int g = 0; g < G; g++) {
      const Pack<T, W> a = load<W>(of + g * E + lane * W);
      for (int j = 0; j < W; j++) query[g][j] = float(a.v[j]) * (as_float(SCALE) * 1.44269504f);   // for powers of two
    }
  };
)";

const char* given_source = R"(
  wait_for_previous();
  if (from < to) {
    read(key, keys, from + group);
    read(value, values, from + group);
  }
  ask(q + (size_t(b) * H + hk * G) * E);
)";

// The queries, the new key and the new value are made here. The part that ends with the new slot writes it (in_place: the
// caches are outputs as well). Slots before it are there before what x is made of.
const char* made_source = R"(
  __shared__ alignas(16) T asked[G][E];
  start_next();
  const bool old = from < to && from + GROUPS * AT_ONCE < end;
  if (old) {
    read(key, keys, from + group);
    read(value, values, from + group);
  }
  wait_for_previous();
#pragma unroll
  for (int h = threadIdx.x / 32; h < G + 2; h += WARPS) {
    T* written = h < G ? &asked[h][0] : from < to && to == end ? slot_of(h, b, hk, end - 1) : nullptr;
    make_head(h, b, hk, written);
  }
  __syncthreads();
  if (from < to && !old) {
    read(key, keys, from + group);
    read(value, values, from + group);
  }
  ask(&asked[0][0]);
)";

const char* end_source = R"(
  for (int g = 0; g < G; g++) {
    for (int j = 0; j < W; j++) out[g][j] = 0;
    m[g] = -INFINITY;
    sum[g] = 0;
  }
  // All lanes of a warp go round together: they exchange numbers. The next keys are under way while values are summed,
  // the next values during the scores.
  for (int base = from; base < to; base += GROUPS * AT_ONCE) {
    const int at = base + group, next = at + GROUPS * AT_ONCE;
    float p[G][AT_ONCE];
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++) {
      float of[W];
      for (int j = 0; j < W; j++) of[j] = float(key[u].v[j]);
#pragma unroll
      for (int g = 0; g < G; g++) {
        float dot = 0;
        for (int j = 0; j < W; j++) dot += query[g][j] * of[j];
        for (int o = LANES / 2; o; o >>= 1) dot += __shfl_xor_sync(~0u, dot, o);
        p[g][u] = at + u * GROUPS < to ? dot : -INFINITY;
      }
    }
    read(key, keys, next);
#pragma unroll
    for (int g = 0; g < G; g++) {
      float most = m[g];
#pragma unroll
      for (int u = 0; u < AT_ONCE; u++) most = fmaxf(most, p[g][u]);
      if (__any_sync(~0u, most > m[g])) {
        const float by = m[g] == most ? 1 : power_of_two(m[g] - most);   // also where nothing was seen yet
        sum[g] *= by;
        for (int j = 0; j < W; j++) out[g][j] *= by;
        m[g] = most;
      }
#pragma unroll
      for (int u = 0; u < AT_ONCE; u++) {
        p[g][u] = p[g][u] == -INFINITY ? 0 : power_of_two(p[g][u] - most);
        sum[g] += p[g][u];
      }
    }
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++) {
      float of[W];
      for (int j = 0; j < W; j++) of[j] = float(value[u].v[j]);
#pragma unroll
      for (int g = 0; g < G; g++) {
        for (int j = 0; j < W; j++) out[g][j] += p[g][u] * of[j];
      }
    }
    read(value, values, next);
  }
  // The groups of a warp first.
#pragma unroll
  for (int g = 0; g < G; g++) {
    for (int o = LANES; o < 32; o <<= 1) {
      const float top = fmaxf(m[g], __shfl_xor_sync(~0u, m[g], o)), by = m[g] == top ? 1 : power_of_two(m[g] - top);
      m[g] = top;
      sum[g] *= by;
      sum[g] += __shfl_xor_sync(~0u, sum[g], o);
      for (int j = 0; j < W; j++) {
        out[g][j] *= by;
        out[g][j] += __shfl_xor_sync(~0u, out[g][j], o);
      }
    }
  }
  __shared__ float all_m[WARPS][G], all_sum[WARPS][G], all_out[WARPS][G][E];
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 < LANES) {
    for (int g = 0; g < G; g++) {
      if (lane == 0) { all_m[warp][g] = m[g]; all_sum[warp][g] = sum[g]; }
      for (int j = 0; j < W; j++) all_out[warp][g][lane * W + j] = out[g][j];
    }
  }
  __syncthreads();
  for (int n = threadIdx.x; n < G * E; n += THREADS) {
    const int g = n / E, e = n % E;
    float top = -INFINITY, total = 0, x = 0;
    for (int i = 0; i < WARPS; i++) top = fmaxf(top, all_m[i][g]);
    for (int i = 0; i < WARPS; i++) {
      const float by = all_m[i][g] > -INFINITY ? power_of_two(all_m[i][g] - top) : 0;
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
  if (PARTS == 1) return;
  // Whoever is the last of this row and key head joins the parts, and leaves the count as it was found.
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    int* count = const_cast<int*>(counts) + b * K + hk;
    last = atomicAdd(count, 1) == PARTS - 1;
    if (last) *count = 0;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  for (int n = threadIdx.x; n < G * E; n += THREADS) {
    const size_t row = size_t(b) * H + hk * G + n / E;
    const float* of = partial + row * PARTS * (E + 2);
    float tops[PARTS], sums[PARTS], xs[PARTS];
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
      tops[i] = load_shared_by_blocks(of + i * (E + 2) + E);
      sums[i] = load_shared_by_blocks(of + i * (E + 2) + E + 1);
      xs[i] = load_shared_by_blocks(of + i * (E + 2) + n % E);
    }
    float top = -INFINITY, total = 0, x = 0;
    for (int i = 0; i < PARTS; i++) top = fmaxf(top, tops[i]);
    for (int i = 0; i < PARTS; i++) {
      const float by = tops[i] > -INFINITY ? power_of_two(tops[i] - top) : 0;
      total += sums[i] * by;
      x += xs[i] * by;
    }
    y[row * E + n % E] = T(x / total);
  }
)";

// Threads that a multiprocessor has registers for: more queries take more of them.
int room_of(int G) {
  return G > 4 ? 256 : 512;
}

// A step of few rows whose launches overlap: one large block asks for most of its slots before the launch before has
// ended, and joins nothing. As far as its sums fit into shared memory.
bool overlaps(int blocks, int G, int E) {
  return blocks <= gpu_processors() && G * E <= 512;
}

// Else up to two blocks a multiprocessor, or four at a time, or eight where they end together as well: rows are mostly
// of one length, so that blocks come in rounds, and threads of a smaller block wait less for each other.
int threads_of(int blocks, int G, int E) {
  const int room = room_of(G);
  if (overlaps(blocks, G, E)) {
    return room;
  }
  const int processors = gpu_processors();
  if (blocks <= 2 * processors) {
    return room / 2;
  }
  const int rounds = (blocks + 4 * processors - 1) / (4 * processors);
  return std::max(64, rounds % 2 ? room / 4 : room / 8);
}

// To join parts costs 1 to 2 us: they have 64 slots where most multiprocessors are idle, else 512, some for each.
int parts_of(int blocks, int slots, int G, int E) {
  const int one = gpu_processors() / std::max(1, blocks), most = std::max(1, slots / 512);
  if (overlaps(blocks, G, E)) {
    return std::clamp(4 * one, 1, most);
  }
  return std::max(one > 2 ? std::min(one, slots / 64) : 1, std::clamp(2 * one, 1, most));
}

// A layer's attention waits for that of the layer before: they can share the counts.
const mx::array& counts() {
  thread_local const mx::array made = [] {
    mx::array zeros = mx::contiguous(mx::zeros({gpu_processors()}, mx::int32));
    zeros.eval();
    return zeros;
  }();
  return made;
}

GpuLaunch launch(
    const mx::Shape& queries,
    const mx::array& k_cache,
    mx::Dtype dtype,
    const AttentionSpec& spec) {
  const int B = queries[0], H = queries[1], E = queries[3], K = k_cache.shape(1),
            S = k_cache.shape(2), G = H / K;
  const int threads = threads_of(B * K, G, E), P = parts_of(B * K, S, G, E);
  return {
      {queries, P == 1 ? mx::Shape{1} : mx::Shape{B * H * P, E + 2}},
      {dtype, mx::float32},
      {K, B, P},
      threads,
      {{"H", H},
       {"K", K},
       {"G", G},
       {"E", E},
       {"PARTS", P},
       {"THREADS", threads},
       {"AT_ONCE", G == 3 || G == 4 ? 2 : 4},
       {"SCALE", float_bits(static_cast<float>(spec.scale))},
       {"WINDOW", spec.window}},
      {{"S", S}},
      room_of(G) / threads};
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
    const DecodeRows& rows,
    const AttentionSpec& spec) {
  static const GpuKernel kernel(
      "decode_attention",
      {"q", "k", "v", "start", "slot", "alike", "counts"},
      {"y", "partial"},
      std::string(begin_source) + given_source + end_source);
  return kernel(
      {q, k_cache, v_cache, rows.start_B, rows.slot, rows.alike_B2, counts()},
      launch(q.shape(), k_cache, q.dtype(), spec))[0];
}

bool decode_heads_fits_gpu(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const mx::array& cos,
    const HeadsSpec& heads,
    const mx::array& k_cache) {
  return split_heads_fits_gpu(qkv, q_norm, cos, heads) && qkv.dtype() != mx::float32 &&
         qkv.shape(1) == 1 && qkv.dtype() == k_cache.dtype() && heads.heads / heads.kv_heads <= 8;
}

DecodedHeads decode_heads_gpu(
    const mx::array& qkv,
    const std::optional<mx::array>& q_norm,
    const std::optional<mx::array>& k_norm,
    const mx::array& cos,
    const mx::array& sin,
    const HeadsSpec& heads,
    const mx::array& k_cache,
    const mx::array& v_cache,
    const DecodeRows& rows,
    const AttentionSpec& spec) {
  if (decode_lines_fit_gpu(qkv, heads, rows, spec)) {
    return decode_lines_gpu(qkv, q_norm, k_norm, cos, sin, heads, k_cache, v_cache, rows, spec);
  }
  static const GpuKernel kernel(
      "decode_heads",
      {"x", "cos", "sin", "wq", "wk", "k", "v", "start", "slot", "alike", "counts"},
      {"y", "partial"},
      std::string(decode_heads_source) + begin_source + made_source + end_source);
  const mx::array &wq = q_norm ? *q_norm : qkv, &wk = k_norm ? *k_norm : qkv;
  GpuLaunch how =
      launch({qkv.shape(0), heads.heads, 1, heads.head_dim}, k_cache, qkv.dtype(), spec);
  how.constants.insert(
      how.constants.end(), {{"NORM", q_norm.has_value()}, {"EPS", float_bits(heads.eps)}});
  how.sizes.emplace_back("SHARED", cos.shape(0) == 1);
  const Arrays out = kernel.in_place(
      {qkv, cos, sin, wq, wk, k_cache, v_cache, rows.start_B, rows.slot, rows.alike_B2, counts()},
      {5, 6},
      how);
  return {out[2], out[0], out[1]};
}

}  // namespace atelier
