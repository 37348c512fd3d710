// A product is made of tiles of R rows and V vectors of columns, whose sums stay in registers. b is copied into panels as
// wide as a tile, a is read where it lies.

using vec::F;
using vec::I;
using vec::lanes;

// A tile's product. Where a's rows are not contiguous, its columns are.
template <int R, int V, bool ByRows>
ATELIER_INLINE void
tile(int k, const float* a, int64_t a_step, const float* b, float* c, int64_t step, bool add) {
  F sum[R][V] = {};
  for (int i = 0; i < k; i++) {
    F w[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; v++) {
      vec::load(w[v], b + (int64_t{i} * V + v) * lanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) {
      const float x = ByRows ? a[r * a_step + i] : a[i * a_step + r];
#pragma GCC unroll 2
      for (int v = 0; v < V; v++) {
        sum[r][v] += w[v] * x;
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; r++) {
#pragma GCC unroll 2
    for (int v = 0; v < V; v++) {
      float* at = c + r * step + v * lanes;
      if (add) {
        F before;
        vec::load(before, at);
        sum[r][v] += before;
      }
      vec::store(at, sum[r][v]);
    }
  }
}

template <int R, int V>
ATELIER_INLINE void tile(
    int k,
    const float* a,
    int64_t a_step,
    bool by_rows,
    const float* b,
    float* c,
    int64_t step,
    bool add) {
  if (by_rows) {
    tile<R, V, true>(k, a, a_step, b, c, step, add);
  } else {
    tile<R, V, false>(k, a, a_step, b, c, step, add);
  }
}

// All rows by one panel, the last rows in a smaller tile. Most is how many rows a tile has.
template <int Most, int V>
ATELIER_INLINE void panel(
    int m,
    int k,
    const float* a,
    int64_t a_step,
    bool by_rows,
    const float* b,
    float* c,
    int64_t step,
    bool add) {
  const int64_t down = by_rows ? a_step : 1;
  int r = 0;
  for (; r + Most <= m; r += Most) {
    tile<Most, V>(k, a + r * down, a_step, by_rows, b, c + r * step, step, add);
  }
  a += r * down;
  c += r * step;
  switch (m - r) {
    case 1:
      return tile<1, V>(k, a, a_step, by_rows, b, c, step, add);
    case 2:
      return tile<2, V>(k, a, a_step, by_rows, b, c, step, add);
    case 3:
      return tile<3, V>(k, a, a_step, by_rows, b, c, step, add);
    case 4:
      return tile<4, V>(k, a, a_step, by_rows, b, c, step, add);
    case 5:
      return tile<5, V>(k, a, a_step, by_rows, b, c, step, add);
    case 6:
      return tile<6, V>(k, a, a_step, by_rows, b, c, step, add);
    case 7:
      return tile<7, V>(k, a, a_step, by_rows, b, c, step, add);
    default:
      return;
  }
}

// As many rows as lanes of as many numbers, `step` apart, as columns of rows that are `to_step` apart.
ATELIER_INLINE void transpose(const float* from, int64_t step, float* to, int64_t to_step) {
  F x[lanes], y[lanes];
#pragma GCC unroll 16
  for (int i = 0; i < lanes; i++) {
    vec::load(x[i], from + i * step);
  }
#pragma GCC unroll 2
  for (int rounds = lanes; rounds >= 4; rounds /= 4) {
    vec::interleave(x, y);
    vec::interleave(y, x);
  }
  if constexpr (lanes == 8) {
    vec::interleave(x, y);
  }
#pragma GCC unroll 16
  for (int i = 0; i < lanes; i++) {
    vec::store(to + i * to_step, lanes == 8 ? y[i] : x[i]);
  }
}

// Rows [0, k) and columns [0, n) of b, n at most V vectors; columns beyond are 0.
template <int V>
ATELIER_INLINE void pack(int k, int n, Strided b, float* to) {
  constexpr int width = V * lanes;
  if (b.right == 1) {
    for (int i = 0; i < k; i++) {
      const float* row = b.data + i * b.down;
      if (n == width) {
        F x;
        for (int v = 0; v < V; v++) {
          vec::load(x, row + v * lanes);
          vec::store(to + i * width + v * lanes, x);
        }
      } else {
        std::copy(row, row + n, to + i * width);
        std::fill(to + i * width + n, to + (i + 1) * width, 0.0f);
      }
    }
    return;
  }
  for (int v = 0; v < V; v++) {
    const int columns = std::clamp(n - v * lanes, 0, lanes);
    const float* at = b.data + int64_t{v} * lanes * b.right;
    int i = 0;
    for (; columns == lanes && i + lanes <= k; i += lanes) {
      transpose(at + i, b.right, to + i * width + v * lanes, width);
    }
    for (; i < k; i++) {
      for (int j = 0; j < lanes; j++) {
        to[i * width + v * lanes + j] = j < columns ? at[j * b.right + i] : 0.0f;
      }
    }
  }
}

template <int Most, int V>
ATELIER_INLINE void
one_panel(const Product& p, int from, int columns, int row, int rows, float* packed, float* edge) {
  constexpr int width = V * lanes;
  pack<V>(rows, columns, p.b.from(row, from), packed);
  const bool by_rows = p.a.right == 1;
  const int64_t a_step = by_rows ? p.a.down : p.a.right;
  const int depth = p.depth ? p.depth : panel_rows;
  for (int i = 0; i < rows; i += depth) {
    const int part = std::min(depth, rows - i);
    const bool add = p.add || row + i > 0;
    const float* a = p.a.from(0, row + i).data;
    const float* b = packed + i * width;
    if (columns == width) {
      panel<Most, V>(p.m, part, a, a_step, by_rows, b, p.c + from, p.step, add);
      continue;
    }
    // A tile that is wider than what is left goes through one of its own.
    for (int r = 0; r < p.m; r += Most) {
      const int n = std::min(Most, p.m - r);
      float* to = p.c + r * p.step + from;
      for (int j = 0; add && j < n; j++) {
        std::copy(to + j * p.step, to + j * p.step + columns, edge + j * width);
      }
      panel<Most, V>(n, part, a + r * (by_rows ? a_step : 1), a_step, by_rows, b, edge, width, add);
      for (int j = 0; j < n; j++) {
        std::copy(edge + j * width, edge + j * width + columns, to + j * p.step);
      }
    }
  }
}

// A tile's sums and operands fill the registers: 32 of them with AVX-512, else 16.
constexpr int most = lanes == 16 ? 8 : 6, vectors = 2;

inline void product(const Product& p, float* packed) {
  constexpr int Most = most, V = vectors;
  float edge[Most * V * lanes];
  std::fill(edge, edge + Most * V * lanes, 0.0f);
  for (int row = 0; row < p.k; row += panel_rows) {
    const int rows = std::min(panel_rows, p.k - row);
    for (int from = 0; from < p.n; from += V * lanes) {
      const int columns = std::min(V * lanes, p.n - from);
      if (columns <= lanes) {
        one_panel<Most, 1>(p, from, columns, row, rows, packed, edge);
      } else {
        one_panel<Most, V>(p, from, columns, row, rows, packed, edge);
      }
    }
  }
}
