// Shapes: B batch, L queries, S slots, H query heads, K key heads, G = H / K, E head.

#include "kernels/loops/softmax_row.h"

// The first slot that a query sees which stands in slot `to` - 1.
ATELIER_INLINE int first_seen(int to, int start, int window) {
  return std::min(std::max(start, window > 0 ? to - window : 0), to - 1);
}

using vec::lanes;

// All rows of one key head: its G * L queries.
inline void softmax_rows(float* x, int G, int L, int S, int start, int window) {
  for (int r = 0; r < G * L; r++) {
    const int to = S - L + r % L + 1;
    softmax_row(x + int64_t{r} * S, x + int64_t{r} * S, first_seen(to, start, window), to, S);
  }
}

inline void softmax_rows_vjp(
    const float* y,
    float* g,
    int G,
    int L,
    int S,
    int start,
    int window,
    float scale) {
  for (int r = 0; r < G * L; r++) {
    const int to = S - L + r % L + 1;
    softmax_row_vjp(
        y + int64_t{r} * S, g + int64_t{r} * S, first_seen(to, start, window), to, S, scale);
  }
}

// p = scale q kᵀ of L queries in the last slots of S, for each query up to its own slot at least; sums in double. `wide`:
// room for E rows of S numbers rounded up to most_lanes.
inline void scores(
    const float* q,
    const float* k,
    float* p,
    int G,
    int L,
    int S,
    int E,
    double scale,
    double* wide) {
  using vec::D;
  constexpr int half = lanes / 2, rows = 4;
  const int64_t step = (S + most_lanes - 1) / most_lanes * most_lanes;
  for (int s = 0; s < S; s++) {
    for (int e = 0; e < E; e++) {
      wide[e * step + s] = k[int64_t{s} * E + e];
    }
  }
  for (int e = 0; e < E; e++) {
    std::fill(wide + e * step + S, wide + (e + 1) * step, 0.0);
  }
  for (int r = 0; r < G * L; r += rows) {
    const int count = std::min(rows, G * L - r);
    // Rows go on from one query head to the next.
    const int last = r % L + count > L ? L - 1 : r % L + count - 1, seen = S - L + last + 1;
    const float* from[rows];
    for (int j = 0; j < rows; j++) {
      from[j] = q + int64_t{r + std::min(j, count - 1)} * E;
    }
    for (int s = 0; s < seen; s += lanes) {
      D sum[rows][2] = {};
      for (int e = 0; e < E; e++) {
        D a, b;
        std::memcpy(&a, wide + e * step + s, sizeof a);
        std::memcpy(&b, wide + e * step + s + half, sizeof b);
#pragma GCC unroll 4
        for (int j = 0; j < rows; j++) {
          const double x = from[j][e];
          sum[j][0] += a * x;
          sum[j][1] += b * x;
        }
      }
      for (int j = 0; j < count; j++) {
        vec::Half part[2];
        part[0] = __builtin_convertvector(sum[j][0] * scale, vec::Half);
        part[1] = __builtin_convertvector(sum[j][1] * scale, vec::Half);
        std::memcpy(p + int64_t{r + j} * S + s, part, std::min(lanes, S - s) * sizeof(float));
      }
    }
  }
}
