// Shapes: B rows, T lines of 8, H query heads, K key heads, G = H / K, S slots of the cache, E head.
#include "kernels/gpu/decode_lines.h"

#include "kernels/gpu/compile.h"
#include "kernels/gpu/decode_source.h"
#include "kernels/gpu/kernel.h"

#include <algorithm>

namespace atelier {
namespace {

// A block takes a key head and TAKEN rows of a line, whose queries are the 16 rows of a tile. What the rows have in common
// is shared out among units of UNIT warps, 16 slots at a time; a warp of a unit adds up 64 numbers of the values. Scores,
// as the first product leaves them, are the second's operand as they are. What is a row's own is read by BY warps, a
// group of LANES lanes a slot. In the end all parts of a query are joined.
const char* source = R"(
  constexpr int W = 16 / sizeof(T), LANES = E / W, GROUPS = 32 / LANES, WARPS = THREADS / 32;
  constexpr int TIMES = (LINE + TAKEN - 1) / TAKEN, BY = WARPS / TAKEN, STEP = GROUPS * AT_ONCE;
  constexpr int UNIT = E / 64, UNITS = WARPS / UNIT, ROOM = E + 4;   // numbers of a part: a sum, its maximum, its divisor
  extern __shared__ char dynamic[];
  float* in_common = reinterpret_cast<float*>(dynamic);            // [UNITS, 16, ROOM]
  float* of_rows = in_common + UNITS * 16 * ROOM;                  // [BY, TAKEN G, ROOM]
  T* queries = reinterpret_cast<T*>(of_rows + BY * TAKEN * G * ROOM);   // [16, E + 8]
  const float by_two = as_float(SCALE) * 1.44269504f;   // for powers of two
  const int hk = blockIdx.x, line = blockIdx.y / TIMES, first = blockIdx.y % TIMES * TAKEN;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  auto row_at = [&](int n) { return n < TAKEN && first + n < LINE ? lines[line * LINE + first + n] : -1; };
  start_next();
  const int one = row_at(0), end = slot[0] + 1;
  if (one < 0) return;
  const int source = alike[2 * one], until = alike[2 * one + 1];
  bool together = row_at(1) >= 0 && until - start[one] >= LEAST;
  for (int n = 1; n < TAKEN; n++) together = together && (row_at(n) < 0 || alike[2 * row_at(n)] == source);
  const int unit = warp / UNIT, slice = warp % UNIT, g = lane / 4, t = lane % 4;
  const size_t common_at = (size_t(source) * K + hk) * S * E;
  const T *common_keys = k + common_at + t * 8, *common_values = v + common_at + slice * 64 + g * 8;
  Pack<unsigned, 4> tile_key[2][E / 32], tile_value[4];
  auto read_tile_keys = [&](int base) {
#pragma unroll
    for (int j = 0; j < 2; j++) {
      const T* at = common_keys + size_t(min(base + 8 * j + g, until - 1)) * E;
#pragma unroll
      for (int c = 0; c < E / 32; c++) tile_key[j][c] = load_now(at + c * 32);
    }
  };
  auto read_tile_values = [&](int base) {
#pragma unroll
    for (int u = 0; u < 4; u++) {
      tile_value[u] = load_now(common_values + size_t(min(base + 2 * t + u / 2 * 8 + u % 2, until - 1)) * E);
    }
  };
  const int begin = start[one] + 16 * unit;
  // Slots before the new one are there before what x is made of.
  if (together) {
    read_tile_keys(begin);
    read_tile_values(begin);
  }
  wait_for_previous();
  // Of a row the BY warps make its queries, the new key and the new value.
  const int own = warp / BY, part = warp % BY, row = row_at(own);
  if (row >= 0) {
#pragma unroll
    for (int h = part; h < G + 2; h += BY) {
      make_head(h, row, hk, h < G ? queries + (own * G + h) * (E + 8) : slot_of(h, row, hk, end - 1));
    }
  }
  __syncthreads();
  if (together) {
    float out[8][4] = {}, m[2] = {-INFINITY, -INFINITY}, sum[2] = {};
    for (int base = begin; base < until; base += 16 * UNITS) {
      float score[2][4] = {};
#pragma unroll
      for (int c = 0; c < E / 32; c++) {
        const unsigned* at = reinterpret_cast<const unsigned*>(queries + g * (E + 8) + c * 32 + t * 8);
        const Pack<unsigned, 4> up = load<4>(at), down = load<4>(at + 4 * (E + 8));
#pragma unroll
        for (int j = 0; j < 2; j++) {
          const unsigned* of = tile_key[j][c].v;
          multiply(score[j], up.v[0], down.v[0], up.v[1], down.v[1], of[0], of[1], T());
          multiply(score[j], up.v[2], down.v[2], up.v[3], down.v[3], of[2], of[3], T());
        }
      }
      read_tile_keys(base + 16 * UNITS);
      unsigned p[2][2];
#pragma unroll
      for (int h = 0; h < 2; h++) {   // of query g, and of query g + 8
        float most = m[h];
#pragma unroll
        for (int e = 0; e < 4; e++) {
          float& one = score[e / 2][2 * h + e % 2];
          one = base + e / 2 * 8 + 2 * t + e % 2 < until ? one * by_two : -INFINITY;
          most = fmaxf(most, one);
        }
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
        most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
        const float by = power_of_two(m[h] - most);
        m[h] = most;
        sum[h] *= by;
#pragma unroll
        for (int j = 0; j < 8; j++) {
          out[j][2 * h] *= by;
          out[j][2 * h + 1] *= by;
        }
#pragma unroll
        for (int j = 0; j < 2; j++) {
          const float low = power_of_two(score[j][2 * h] - most), high = power_of_two(score[j][2 * h + 1] - most);
          sum[h] += low + high;
          p[j][h] = T(low).bits | unsigned(T(high).bits) << 16;
        }
      }
      // Two slots of one number side by side, as the products want them.
#pragma unroll
      for (int n = 0; n < 4; n++) {
        const unsigned a = tile_value[0].v[n], b = tile_value[1].v[n], c = tile_value[2].v[n], d = tile_value[3].v[n];
        multiply(out[2 * n], p[0][0], p[0][1], p[1][0], p[1][1], __byte_perm(a, b, 0x5410), __byte_perm(c, d, 0x5410), T());
        multiply(out[2 * n + 1], p[0][0], p[0][1], p[1][0], p[1][1], __byte_perm(a, b, 0x7632), __byte_perm(c, d, 0x7632), T());
      }
      read_tile_values(base + 16 * UNITS);
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
      sum[h] += __shfl_xor_sync(~0u, sum[h], 1);
      sum[h] += __shfl_xor_sync(~0u, sum[h], 2);
      float* to = in_common + (unit * 16 + g + 8 * h) * ROOM;
#pragma unroll
      for (int e = 0; e < 16; e += 4) {
        const Pack<float, 4> four{{out[e % 8][2 * h + e / 8], out[e % 8 + 1][2 * h + e / 8], out[e % 8 + 2][2 * h + e / 8],
                                   out[e % 8 + 3][2 * h + e / 8]}};
        store<4>(to + slice * 64 + 16 * t + e, four);
      }
      if (t == 0 && slice == 0) store<2>(to + E, Pack<float, 2>{{m[h], sum[h]}});
    }
  }
  if (row >= 0) {
    const int group = lane / LANES, number = lane % LANES * W;
    const int shared = together ? 0 : alike[2 * row + 1];   // up to there another row is read
    const int64_t away = (int64_t(alike[2 * row]) - row) * K * S * E;
    const T* keys = k + (size_t(row) * K + hk) * S * E + number;
    const T* values = v + (size_t(row) * K + hk) * S * E + number;
    Pack<T, W> key[AT_ONCE], value[AT_ONCE];
    // Past the L1 cache, since nobody reads them again, and right here (volatile): the compiler puts them off.
    auto read = [&](Pack<T, W>* to, const T* of, int s) {
#pragma unroll
      for (int u = 0; u < AT_ONCE; u++) {
        Words& x = reinterpret_cast<Words&>(to[u]);
        const int at = min(s + u * GROUPS, end - 1);
        asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x.a), "=r"(x.b), "=r"(x.c), "=r"(x.d)
                     : "l"(of + size_t(at) * E + (at < shared ? away : 0)));
      }
    };
    const int from = (together ? until : start[row]) + part * STEP;
    read(key, keys, from + group);
    read(value, values, from + group);
    float query[G][W], out[G][W], m[G], sum[G];
#pragma unroll
    for (int n = 0; n < G; n++) {
      const Pack<T, W> a = load<W>(queries + (own * G + n) * (E + 8) + number);
      for (int j = 0; j < W; j++) query[n][j] = float(a.v[j]) * by_two;
      for (int j = 0; j < W; j++) out[n][j] = 0;
      m[n] = -INFINITY;
      sum[n] = 0;
    }
    for (int base = from; base < end; base += BY * STEP) {
      const int at = base + group, next = at + BY * STEP;
      float p[G][AT_ONCE];
#pragma unroll
      for (int u = 0; u < AT_ONCE; u++) {
        float of[W];
        for (int j = 0; j < W; j++) of[j] = float(key[u].v[j]);
#pragma unroll
        for (int n = 0; n < G; n++) {
          float dot = 0;
          for (int j = 0; j < W; j++) dot += query[n][j] * of[j];
          for (int o = LANES / 2; o; o >>= 1) dot += __shfl_xor_sync(~0u, dot, o);
          p[n][u] = at + u * GROUPS < end ? dot : -INFINITY;
        }
      }
      read(key, keys, next);
#pragma unroll
      for (int n = 0; n < G; n++) {
        float most = m[n];
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) most = fmaxf(most, p[n][u]);
        const float by = m[n] == most ? 1 : power_of_two(m[n] - most);   // also where nothing was seen yet
        sum[n] *= by;
        for (int j = 0; j < W; j++) out[n][j] *= by;
        m[n] = most;
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
          p[n][u] = p[n][u] == -INFINITY ? 0 : power_of_two(p[n][u] - most);
          sum[n] += p[n][u];
        }
      }
#pragma unroll
      for (int u = 0; u < AT_ONCE; u++) {
        float of[W];
        for (int j = 0; j < W; j++) of[j] = float(value[u].v[j]);
#pragma unroll
        for (int n = 0; n < G; n++) {
          for (int j = 0; j < W; j++) out[n][j] += p[n][u] * of[j];
        }
      }
      read(value, values, next);
    }
#pragma unroll
    for (int n = 0; n < G; n++) {
      for (int o = LANES; o < 32; o <<= 1) {
        const float top = fmaxf(m[n], __shfl_xor_sync(~0u, m[n], o)), by = m[n] == top ? 1 : power_of_two(m[n] - top);
        m[n] = top;
        sum[n] *= by;
        sum[n] += __shfl_xor_sync(~0u, sum[n], o);
        for (int j = 0; j < W; j++) {
          out[n][j] *= by;
          out[n][j] += __shfl_xor_sync(~0u, out[n][j], o);
        }
      }
      float* to = of_rows + ((part * TAKEN + own) * G + n) * ROOM;
      if (group == 0) {
        for (int j = 0; j < W; j += 4) {
          store<4>(to + number + j, Pack<float, 4>{{out[n][j], out[n][j + 1], out[n][j + 2], out[n][j + 3]}});
        }
      }
      if (lane == 0) store<2>(to + E, Pack<float, 2>{{m[n], sum[n]}});
    }
  }
  __syncthreads();
  for (int n = threadIdx.x * 4; n < TAKEN * G * E; n += THREADS * 4) {
    const int q = n / E, e = n % E, to = row_at(q / G);
    if (to < 0) continue;
    float top = -INFINITY, total = 0, sum[4] = {};
    auto add = [&](const float* of) {
      const Pack<float, 4> more = load<4>(of + e);
      const float m = of[E], most = fmaxf(top, m);
      if (m == -INFINITY) return;
      const float old = top == most ? 1 : power_of_two(top - most), by = power_of_two(m - most);
      for (int j = 0; j < 4; j++) sum[j] = sum[j] * old + more.v[j] * by;
      total = total * old + of[E + 1] * by;
      top = most;
    };
    for (int u = 0; u < UNITS && together; u++) add(in_common + (u * 16 + q) * ROOM);
    for (int u = 0; u < BY; u++) add(of_rows + (u * TAKEN * G + q) * ROOM);
    Pack<T, 4> made;
    for (int j = 0; j < 4; j++) made.v[j] = T(sum[j] / total);
    store<4>(y + (size_t(to) * H + hk * G + q % G) * E + e, made);
  }
)";

// Fewer slots in common are read by each row for itself.
constexpr int least = 32;
constexpr int threads = 256, warps = threads / 32;

int rows_of_block(int G) {
  return std::min(16 / G, decode_line);
}

int blocks_of_line(int G) {
  return (decode_line + rows_of_block(G) - 1) / rows_of_block(G);
}

}  // namespace

// Below, decode_heads_gpu's smaller blocks fill more of the GPU.
bool decode_lines_fit_gpu(
    const mx::array& qkv,
    const HeadsSpec& heads,
    const DecodeRows& rows,
    const AttentionSpec& spec) {
  const int E = heads.head_dim, G = heads.heads / heads.kv_heads;
  return rows.lines_T8 && spec.window == 0 && (E == 64 || E == 128) &&
         rows.lines_T8->shape(0) * blocks_of_line(G) * heads.kv_heads > gpu_processors() * 3 / 4;
}

DecodedHeads decode_lines_gpu(
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
  static const GpuKernel kernel(
      "decode_lines",
      {"x", "cos", "sin", "wq", "wk", "k", "v", "start", "slot", "alike", "lines"},
      {"y"},
      std::string(decode_heads_source) + source);
  const int B = qkv.shape(0), H = heads.heads, K = heads.kv_heads, E = heads.head_dim, G = H / K;
  const int taken = rows_of_block(G), units = warps / (E / 64), parts = warps / taken;
  const mx::array &wq = q_norm ? *q_norm : qkv, &wk = k_norm ? *k_norm : qkv;
  const GpuLaunch launch{
      {{B, H, 1, E}},
      {qkv.dtype()},
      {K, rows.lines_T8->shape(0) * blocks_of_line(G), 1},
      threads,
      {{"H", H},
       {"K", K},
       {"G", G},
       {"E", E},
       {"LINE", decode_line},
       {"TAKEN", taken},
       {"THREADS", threads},
       {"AT_ONCE", G > 2 ? 2 : 4},
       {"SCALE", float_bits(static_cast<float>(spec.scale))},
       {"LEAST", least},
       {"NORM", q_norm.has_value()},
       {"EPS", float_bits(heads.eps)}},
      {{"S", k_cache.shape(2)}, {"SHARED", cos.shape(0) == 1}},
      G > 4 ? 1 : 2,
      1,
      (units * 16 + parts * taken * G) * (E + 4) * 4 + 16 * (E + 8) * 2};
  const Arrays out = kernel.in_place(
      {qkv,
       cos,
       sin,
       wq,
       wk,
       k_cache,
       v_cache,
       rows.start_B,
       rows.slot,
       rows.alike_B2,
       *rows.lines_T8},
      {5, 6},
      launch);
  return {out[2], out[0], out[1]};
}

}  // namespace atelier
