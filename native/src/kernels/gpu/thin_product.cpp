// Shapes: N rows, I in, O out, F = O / 2 of a gated one, R ranks.
#include "kernels/thin_product.h"

#include "kernels/gpu/kernel.h"
#include "kernels/gpu/tile_product.h"
#include "kernels/rms_norm.h"
#include "kernels/swiglu.h"

#include <algorithm>

namespace atelier {
namespace {

// Tensor cores take W's rows as their rows and x's rows as their columns: 16 features times 8 rows. A block makes
// TILES x 16 features of 8 COLUMNS rows; its warps share out I in chunks of 32 and add up at the end. A lane reads 16
// bytes of a row, which stand for two products' k: W and x are read in the same order, so that it does not matter.
// The first R / 16 blocks make h = f(x) Aᵀ; the others have h behind their own product, when it is long there, and
// wait for a count to say so. Blocks start in order, hence those before them never wait for room.
const char* source = R"(
  constexpr int CHUNKS = I / 32, PER = (CHUNKS + WARPS - 1) / WARPS, LOW = R / 16;
  constexpr int PARTS = GATED ? 2 : 1, F = O / PARTS, ENDING = TILES / PARTS * COLUMNS;   // warps that end a tile
  constexpr bool HELD = PER * COLUMNS <= 6;   // x fits into registers
  __shared__ float part[WARPS][TILES][16][8 * COLUMNS], squares[WARPS][8 * COLUMNS];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const bool low = int(blockIdx.x) < LOW;
  const int first = low ? blockIdx.x * 16 : (int(blockIdx.x) - LOW) * (16 * TILES / PARTS);
  const int tiles = low ? 1 : TILES;
  const T* from[TILES];
  for (int m = 0; m < TILES; m++) {
    const int feature = low ? first : first + m / PARTS * 16 + m % PARTS * F;
    from[m] = (low ? a : w) + size_t(feature + g) * I + t * 8;
  }
  Words upper[TILES][AT_ONCE], lower[TILES][AT_ONCE];
  auto read = [&](int base) {
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++) {
      const int c = (base + u) * WARPS + warp;
#pragma unroll
      for (int m = 0; m < TILES; m++) {
        if (m < tiles && base + u < PER && c < CHUNKS) {
          upper[m][u] = load_once(from[m] + c * 32);
          lower[m][u] = load_once(from[m] + c * 32 + 8 * I);
        } else {
          upper[m][u] = lower[m][u] = Words{0, 0, 0, 0};
        }
      }
    }
  };
  // Weights are there before what x is made of.
  start_next();
  read(0);
  const bool ends = !low && warp < ENDING;
  const int column = warp % COLUMNS * 8, tile = warp / COLUMNS;   // of the tile that this warp ends
  unsigned of_b[PARTS][LOW > 0 ? LOW : 1][4];
  if (ends) {
#pragma unroll
    for (int p = 0; p < PARTS; p++) {
#pragma unroll
      for (int s = 0; s < LOW; s++) {
        const T* at = b + size_t(first + 16 * tile + p * F + g) * R + 16 * s + 2 * t;
        of_b[p][s][0] = word(at);
        of_b[p][s][1] = word(at + 8 * R);
        of_b[p][s][2] = word(at + 8);
        of_b[p][s][3] = word(at + 8 * R + 8);
      }
    }
  }
  auto chunk = [&](int p) { return min(p * WARPS + warp, CHUNKS - 1); };
  Pack<T, 8> by[HELD ? PER : 1];
  if (NORM && HELD) {
#pragma unroll
    for (int p = 0; p < PER; p++) by[p] = load<8>(norm + chunk(p) * 32 + t * 8);
  }
  wait_for_previous();
  const T* rows[COLUMNS];
  for (int j = 0; j < COLUMNS; j++) rows[j] = x + size_t(min(j * 8 + g, N - 1)) * I + t * 8;
  Pack<T, 8> held[HELD ? COLUMNS : 1][HELD ? PER : 1];
  if (HELD) {
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
#pragma unroll
      for (int p = 0; p < PER; p++) held[j][p] = load<8>(rows[j] + chunk(p) * 32);
    }
  }
  float under[4] = {};
  if (ONTO && ends) {
    for (int e = 0; e < 4; e++) {
      const int row = min(column + 2 * t + e % 2, N - 1);
      under[e] = float(onto[size_t(row) * O + first + 16 * tile + g + e / 2 * 8]);
    }
  }
  float scale[COLUMNS];
  if (NORM) {
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
      float sum = 0;
#pragma unroll
      for (int p = 0; p < PER; p++) {
        const Pack<T, 8> v = HELD ? held[j][p] : load<8>(rows[j] + chunk(p) * 32);
        float own = 0;
        for (int e = 0; e < 8; e++) own += float(v.v[e]) * float(v.v[e]);
        sum += p * WARPS + warp < CHUNKS ? own : 0;
      }
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      if (t == 0) squares[warp][j * 8 + g] = sum;
    }
    __syncthreads();
    for (int j = 0; j < COLUMNS; j++) {
      float sum = 0;
      for (int i = 0; i < WARPS; i++) sum += squares[i][j * 8 + g];
      scale[j] = rsqrtf(sum / I + as_float(EPS));
    }
  }
  float acc[TILES][COLUMNS][4] = {};
#pragma unroll
  for (int base = 0; base < PER; base += AT_ONCE) {
    if (base > 0) read(base);
#pragma unroll
    for (int u = 0; u < AT_ONCE; u++) {
      const int p = base + u;
      if (p >= PER) break;
      Pack<T, 8> factor;
      if (NORM) factor = HELD ? by[p] : load<8>(norm + chunk(p) * 32 + t * 8);
#pragma unroll
      for (int j = 0; j < COLUMNS; j++) {
        const Pack<T, 8> v = HELD ? held[j][p] : load<8>(rows[j] + chunk(p) * 32);
        unsigned k[4];
        for (int e = 0; e < 4; e++) {
          T one = v.v[2 * e], two = v.v[2 * e + 1];
          if (NORM) {
            one = T(float(one) * scale[j] * float(factor.v[2 * e]));
            two = T(float(two) * scale[j] * float(factor.v[2 * e + 1]));
          }
          k[e] = one.bits | unsigned(two.bits) << 16;
        }
#pragma unroll
        for (int m = 0; m < TILES; m++) {
          if (m < tiles) {
            const Words &up = upper[m][u], &down = lower[m][u];
            multiply(acc[m][j], up.a, down.a, up.b, down.b, k[0], k[1], T());
            multiply(acc[m][j], up.c, down.c, up.d, down.d, k[2], k[3], T());
          }
        }
      }
    }
  }
#pragma unroll
  for (int m = 0; m < TILES; m++) {
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
      for (int e = 0; e < 4; e++) part[warp][m][g + e / 2 * 8][j * 8 + 2 * t + e % 2] = acc[m][j][e];
    }
  }
  __syncthreads();
  auto sum_of = [&](int m, int e) {
    float sum = 0;
    for (int i = 0; i < WARPS; i++) sum += part[i][m][g + e / 2 * 8][column + 2 * t + e % 2];
    return sum;
  };
  int* made = const_cast<int*>(counts) + 2 * COUNT;
  if (low && warp < COLUMNS) {
    for (int e = 0; e < 4; e++) {
      const int row = column + 2 * t + e % 2;
      if (row < N) h[size_t(row) * R + first + g + e / 2 * 8] = T(sum_of(0, e));
    }
    __threadfence();
    __syncwarp();
    if (lane == 0) atomicAdd(made, 1);
  }
  if (!ends) return;
  float out[PARTS][4];
#pragma unroll
  for (int p = 0; p < PARTS; p++) {
    for (int e = 0; e < 4; e++) out[p][e] = float(T(sum_of(PARTS * tile + p, e) + under[e]));
  }
  if (LOW > 0) {
    if (lane == 0) {
      while (load_acquire(made) < LOW * COLUMNS) {}
      // The last that has seen it makes the counts ready for the next launch.
      if (atomicAdd(made + 1, 1) == (int(gridDim.x) - LOW) * ENDING - 1) made[0] = made[1] = 0;
    }
    __syncwarp();
    const T* of_h = h + size_t(min(column + g, N - 1)) * R + 2 * t;
    float more[PARTS][4] = {};
#pragma unroll
    for (int s = 0; s < LOW; s++) {
      const unsigned one = word(of_h + 16 * s), two = word(of_h + 16 * s + 8);
#pragma unroll
      for (int p = 0; p < PARTS; p++) {
        multiply(more[p], of_b[p][s][0], of_b[p][s][1], of_b[p][s][2], of_b[p][s][3], one, two, T());
      }
    }
    for (int p = 0; p < PARTS; p++) {
      for (int e = 0; e < 4; e++) out[p][e] = float(T(out[p][e] + more[p][e]));
    }
  }
  for (int e = 0; e < 4; e++) {
    const int row = column + 2 * t + e % 2;
    float value = out[0][e];
    if (GATED) value = value / (1.0f + __expf(-value)) * out[PARTS - 1][e];
    if (row < N) y[size_t(row) * F + first + 16 * tile + g + e / 2 * 8] = T(value);
  }
)";

// Launches of one graph that may run side by side take different counts.
constexpr int counts_size = 64;

const mx::array& counts() {
  thread_local const mx::array made = [] {
    mx::array zeros = mx::contiguous(mx::zeros({2 * counts_size}, mx::int32));
    zeros.eval();
    return zeros;
  }();
  return made;
}

int next_count() {
  thread_local int next = 0;
  return next++ % counts_size;
}

struct Sizes {
  int N, I, O, R;

  explicit Sizes(const ThinProduct& p)
      : N(static_cast<int>(p.x.size() / p.x.shape(-1))),
        I(p.x.shape(-1)),
        O(p.w.shape(0)),
        R(p.lora ? p.lora->a.shape(0) : 0) {}

  /** Columns of 8 rows that a block makes. */
  int columns() const {
    return N <= 8 ? 1 : 2;
  }
  /** Tiles of 16 features: some one or two blocks for each of 132 multiprocessors. */
  int tiles(bool gated) const {
    return gated || (O >= 3072 && O % 32 == 0) ? 2 : 1;
  }
};

}  // namespace

mx::array thin_product_plain(const ThinProduct& p) {
  const mx::array x = p.norm ? rms_norm_plain(p.x, p.norm->w, p.norm->eps) : p.x;
  mx::array y = mx::matmul(x, mx::transpose(p.w));
  if (p.onto) {
    y = *p.onto + y;
  }
  if (p.lora) {
    y = y + mx::matmul(mx::matmul(x, mx::transpose(p.lora->a)), mx::transpose(p.lora->b));
  }
  return p.gated ? swiglu_plain(y) : y;
}

bool thin_product_fits_gpu(const ThinProduct& p) {
  return (Sizes(p).N <= thin_product_rows || GpuRecording::now()) &&
         thin_product_fits_recorded_gpu(p);
}

bool thin_product_fits_recorded_gpu(const ThinProduct& p) {
  const mx::Dtype type = p.x.dtype();
  const Sizes s(p);
  auto same = [&](const mx::array& a) { return a.dtype() == type && !a.is_tracer(); };
  return gpu_kernels_for(p.x) && type != mx::float32 && same(p.x) && same(p.w) && s.N > 0 &&
         (s.N <= thin_product_rows
              ? s.I % 32 == 0 && s.O % (p.gated ? 32 : 16) == 0 && s.R % 16 == 0
              : tile_product_fits_gpu(p)) &&
         (!p.lora || (same(p.lora->a) && same(p.lora->b))) && (!p.onto || same(*p.onto)) &&
         (!p.norm || same(p.norm->w));
}

mx::array thin_product_gpu(ThinProduct p) {
  if (Sizes(p).N > thin_product_rows) {
    return tile_product_gpu(std::move(p));
  }
  static const GpuKernel kernel(
      "thin_product", {"x", "w", "norm", "a", "b", "onto", "counts"}, {"y", "h"}, source);
  if (const auto* norm = recipe_of<NormRecipe>(p.x); norm && !p.norm) {
    const Arrays of = p.x.inputs();
    p.norm = ThinProduct::Norm{of[1], norm->eps};
    p.x = of[0];
  }
  const Sizes s(p);
  const int tiles = s.tiles(p.gated), warps = tiles == 1 && s.I > 2048 ? 16 : 8;
  const int chunks = (s.I / 32 + warps - 1) / warps, features = 16 * tiles / (p.gated ? 2 : 1);
  mx::Shape shape = p.x.shape();
  shape.back() = p.gated ? s.O / 2 : s.O;
  const mx::array &none = p.w, a = p.lora ? p.lora->a : none, b = p.lora ? p.lora->b : none;
  return kernel(
      {p.x, p.w, p.norm ? p.norm->w : none, a, b, p.onto.value_or(none), counts()},
      {{shape, {s.N, std::max(1, s.R)}},
       {p.x.dtype(), p.x.dtype()},
       {s.R / 16 + shape.back() / features, 1, 1},
       warps * 32,
       {{"I", s.I},
        {"O", s.O},
        {"R", s.R},
        {"WARPS", warps},
        {"TILES", tiles},
        {"COLUMNS", s.columns()},
        {"AT_ONCE", std::min(chunks, 8 / tiles)},
        {"ONTO", p.onto.has_value()},
        {"GATED", p.gated},
        {"NORM", p.norm.has_value()},
        {"EPS", float_bits(p.norm ? p.norm->eps : 0.0f)}},
       {{"N", s.N}, {"COUNT", s.R > 0 ? next_count() : 0}},
       p.gated ? 2 : 1},
      {.recipe = p})[0];
}

std::optional<mx::array> thin_product_gated_gpu(const mx::array& gate_up) {
  const auto* recipe = recipe_of<ThinProduct>(gate_up);
  if (!recipe || recipe->onto || recipe->gated) {
    return std::nullopt;
  }
  ThinProduct gated = *recipe;
  gated.gated = true;
  return thin_product_fits_gpu(gated) ? std::optional(thin_product_gpu(gated)) : std::nullopt;
}

}  // namespace atelier
