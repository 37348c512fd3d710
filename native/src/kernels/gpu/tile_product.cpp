// Shapes: N rows, I in, O out, F = O / 2 of a gated one, R ranks.
#include "kernels/gpu/tile_product.h"

#include "kernels/gpu/compile.h"
#include "kernels/gpu/kernel.h"
#include "kernels/gpu/tile_source.h"
#include "kernels/rms_norm.h"

#include <algorithm>
#include <optional>

namespace atelier {
namespace {

// A block makes 64 rows of COLUMNS features: four warps ask for W (and A), four for x, in chunks of 64 of I, STAGES at
// a time, and four multiply. x's rows are the tensor cores' rows, W's and A's their columns, so that h = x Aᵀ is made
// beside x Wᵀ. SPLIT blocks, a cluster, share out I; each is given a part of what is to be ended by all others, as it
// lies in registers, where 16 rows of h are an operand as they lie.
const char* source = R"(
  constexpr int PARTS = GATED ? 2 : 1, F = O / PARTS, PART = COLUMNS / PARTS, COUNT = I / 64 / SPLIT, ROWS = 64;
  constexpr int TALL = COLUMNS + R, STAGE = (TALL + ROWS) * 128;   // rows of W and A; bytes
  constexpr int MAKERS = 4, LOADERS = 4, WARPS = MAKERS + 2 * LOADERS, LOW = R > 0 ? R / 8 : 2;
  constexpr bool REFILL = COUNT > STAGES;
  // Where stages are few, a chunk's is free as soon as it is multiplied; else the tensor cores go on meanwhile.
  constexpr int SOON = STAGES < 5, LAG = REFILL ? STAGES - 2 + SOON : COUNT - 1;   // chunks on their way
  // A block of a cluster ends OWN x 16 rows of PIECE features (as many of the gate and of up).
  constexpr int DOWN = SPLIT < MAKERS ? SPLIT : MAKERS, ACROSS = SPLIT / DOWN;
  constexpr int OWN = MAKERS / DOWN, PIECE = PART / ACROSS, TILES = (PARTS * PIECE + R) / 8;
  extern __shared__ char dynamic[];
  __shared__ unsigned long long full[STAGES], empty[STAGES], given;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int rank = blockIdx.x % SPLIT, first = blockIdx.x / SPLIT * PART, top = blockIdx.y * ROWS;
  const int rows = min(ROWS, N - top), begin = rank * COUNT * 64;
  const unsigned stages = (shared_address(dynamic) + 1023) / 1024 * 1024;
  const unsigned of_b = stages + STAGES * STAGE, taken = of_b + (R > 0 ? COLUMNS * (2 * R + 16) : 0);
  if (threadIdx.x < STAGES) {
    barrier_init(shared_address(full + threadIdx.x), 2 * LOADERS);
    barrier_init(shared_address(empty + threadIdx.x), MAKERS);
  }
  if (threadIdx.x == 32) {
    const int groups = min(OWN, max(0, (rows + 15) / 16 - rank / ACROSS * OWN));
    barrier_init(shared_address(&given), 1);
    barrier_expect(shared_address(&given), SPLIT * groups * TILES * 512);
  }
  barriers_are_there();
  __syncthreads();
  if (SPLIT > 1) cluster_arrive();
  start_next();
  // Of 32 features a lane is to hold 8 in a row, 16 bytes of y: column c of tile j is feature c / 2 * 8 + 2 j + c % 2.
  auto feature = [&](int column) {
    return column / 32 * 32 + column % 8 / 2 * 8 + column % 32 / 8 * 2 + column % 2;
  };
  auto spot = [&](int from, int group, int tile) {
    return taken + unsigned(((from * OWN + group) * TILES + tile) * 32 + lane) * 16;
  };
  auto read_under = [&](Pack<T, 8> (&under)[2], int row, int column) {
    for (int i = 0; i < 2; i++) under[i] = load<8>(onto + size_t(min(row + 8 * i, N - 1)) * O + first + column + 8 * t);
  };
  // A warp ends 16 rows of 32 features, of which it holds x Wᵀ and, of its rows, h.
  auto end = [&](
      float (&out)[PARTS][4][4], const float (&of_h)[LOW][4], const Pack<T, 8> (&under)[2], int row, int column) {
#pragma unroll
    for (int p = 0; p < PARTS; p++) {
#pragma unroll
      for (int j = 0; j < 4; j++) {
        for (int i = 0; i < 4; i++) {
          out[p][j][i] = float(T(out[p][j][i] + (ONTO ? float(under[i / 2].v[2 * j + i % 2]) : 0.0f)));
        }
      }
    }
    if (R > 0) {
      float more[PARTS][4][4] = {};
#pragma unroll
      for (int s = 0; s < R / 16; s++) {
        unsigned k[4];
        for (int i = 0; i < 4; i++) {
          const float* two = of_h[2 * s + i / 2] + i % 2 * 2;
          k[i] = T(two[0]).bits | unsigned(T(two[1]).bits) << 16;
        }
#pragma unroll
        for (int p = 0; p < PARTS; p++) {
#pragma unroll
          for (int j = 0; j < 4; j++) {
            const unsigned at = of_b + (p * PART + column + j * 8 + g) * (2 * R + 16) + (16 * s + 2 * t) * 2;
            multiply(more[p][j], k[0], k[1], k[2], k[3], shared_word(at), shared_word(at + 16), T());
          }
        }
      }
#pragma unroll
      for (int p = 0; p < PARTS; p++) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
          for (int i = 0; i < 4; i++) out[p][j][i] = float(T(out[p][j][i] + more[p][j][i]));
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
      Pack<T, 8> made;
      for (int j = 0; j < 8; j++) {
        float value = out[0][j / 2][2 * i + j % 2];
        if (GATED) value = __fdividef(value, 1.0f + __expf(-value)) * out[PARTS - 1][j / 2][2 * i + j % 2];
        made.v[j] = T(value);
      }
      if (row + 8 * i < N) store<8>(y + size_t(row + 8 * i) * F + first + column + 8 * t, made);
    }
  };
  if (warp >= MAKERS) {
    // W is there before what x is made of; x and W are asked for by warps of their own.
    const bool of_x = warp >= MAKERS + LOADERS;
    const int l = (threadIdx.x - 32 * MAKERS) % (32 * LOADERS), row = l / 8, piece = l % 8;
    const int from = begin + piece * 8;
    const T *from_x = x + size_t(top + row) * I + from, *from_w = w + size_t(first + feature(row)) * I + from;
    const T* from_a = a + size_t(row) * I + from;
    auto landed = [&](int c) {
      for_tensor_cores();
      __syncwarp();
      if (lane == 0) barrier_arrive(shared_address(full + c % STAGES));
    };
    if (of_x) wait_for_previous();
#pragma unroll 1
    for (int c = 0; c < COUNT; c++) {
      const int s = c % STAGES;
      if (REFILL && c >= STAGES) barrier_wait(shared_address(empty + s), (c / STAGES - 1) & 1);
      const unsigned to = stages + s * STAGE + swizzled(row, piece);
      if (of_x) {
#pragma unroll
        for (int r = 0; r < ROWS; r += 4 * LOADERS) {
          if (r + row < rows) copy_later(to + (TALL + r) * 128, from_x + size_t(r) * I + c * 64);
        }
      } else {
#pragma unroll
        for (int r = 0; r < TALL; r += 4 * LOADERS) {
          const T* one = r >= COLUMNS ? from_a + size_t(r - COLUMNS) * I
                                      : from_w + size_t(r / PART * F + feature(r % PART)) * I;
          copy_later(to + r * 128, one + c * 64);
        }
        if (R > 0 && c == 0) {
          for (int i = l; i < COLUMNS * LOW; i += 32 * LOADERS) {
            const int r = i / LOW, k = i % LOW * 8;
            copy_later(of_b + r * (2 * R + 16) + k * 2, b + size_t(first + r / PART * F + feature(r % PART)) * R + k);
          }
        }
      }
      copies_commit();
      if (c >= LAG) {
        copies_wait<LAG>();
        landed(c - LAG);
      }
    }
    copies_wait_each<LAG - 1>([&](int left) { landed(COUNT - 1 - left); });
    if (SPLIT == 1) return;
    __syncwarp();
    wait_for_previous();
    cluster_wait();
  } else {
    float acc[COLUMNS / 2], low[LOW * 4];
#pragma unroll 1
    for (int c = 0; c < COUNT; c++) {
      barrier_wait(shared_address(full + c % STAGES), c / STAGES & 1);
      __syncwarp();
      tiles_begin();
#pragma unroll
      for (int k = 0; k < 4; k++) {
        const unsigned at = stages + c % STAGES * STAGE + k * 32;
        const unsigned long long of_x = tile_at(at + TALL * 128);
        multiply_tile(acc, of_x, tile_at(at), c + k, T());
        if (R > 0) multiply_tile(low, of_x, tile_at(at + COLUMNS * 128), c + k, T());
      }
      tiles_commit();
      if (REFILL) {
        tiles_wait<1 - SOON>();
        if (lane == 0 && c + SOON > 0) barrier_arrive(shared_address(empty + (c + SOON - 1) % STAGES));
      }
    }
    tiles_wait<0>();
    settled(acc);
    settled(low);
    __syncwarp();
    wait_for_previous();
    if (SPLIT == 1) {
      float of_h[LOW][4];
      for (int i = 0; i < LOW * 4; i++) of_h[i / 4][i % 4] = low[i];
#pragma unroll
      for (int column = 0; column < PART; column += 32) {
        const int row = top + warp * 16 + g;
        float out[PARTS][4][4];
        for (int p = 0; p < PARTS; p++) {
          for (int i = 0; i < 16; i++) out[p][i / 4][i % 4] = acc[(p * PART + column) / 2 + i];
        }
        Pack<T, 8> under[2];
        if (ONTO) read_under(under, row, column);
        end(out, of_h, under, row, column);
      }
      return;
    }
    cluster_wait();
    if (warp * 16 < rows) {
#pragma unroll
      for (int o = 0; o < ACROSS; o++) {
        const int owner = warp / OWN * ACROSS + o;
        const unsigned to = address_in(owner, spot(rank, warp % OWN, 0));
        const unsigned count = address_in(owner, shared_address(&given));
#pragma unroll
        for (int p = 0; p < PARTS; p++) {
#pragma unroll
          for (int j = 0; j < PIECE / 8; j++) {
            give(to + (p * PIECE / 8 + j) * 512, acc + (p * PART + o * PIECE) / 2 + 4 * j, count);
          }
        }
#pragma unroll
        for (int j = 0; j < R / 8; j++) give(to + (PARTS * PIECE / 8 + j) * 512, low + 4 * j, count);
      }
    }
  }
  constexpr int BESIDE = PIECE / 32, UNITS = OWN * BESIDE, EACH = (UNITS + WARPS - 1) / WARPS;
  auto row_of = [&](int unit) { return top + (rank / ACROSS * OWN + unit / BESIDE) * 16 + g; };
  auto column_of = [&](int unit) { return rank % ACROSS * PIECE + unit % BESIDE * 32; };
  Pack<T, 8> under[EACH][2];
  if (ONTO) {
#pragma unroll
    for (int e = 0; e < EACH; e++) {
      const int unit = min(e * WARPS + warp, UNITS - 1);
      read_under(under[e], row_of(unit), column_of(unit));
    }
  }
  barrier_wait(shared_address(&given), 0);
  __syncwarp();
#pragma unroll
  for (int e = 0; e < EACH; e++) {
    const int unit = e * WARPS + warp;
    if (unit >= UNITS) break;
    float out[PARTS][4][4] = {}, of_h[LOW][4] = {};
#pragma unroll
    for (int from = 0; from < SPLIT; from++) {
#pragma unroll
      for (int p = 0; p < PARTS; p++) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
          add_shared(out[p][j], spot(from, unit / BESIDE, p * PIECE / 8 + unit % BESIDE * 4 + j));
        }
      }
#pragma unroll
      for (int j = 0; j < R / 8; j++) add_shared(of_h[j], spot(from, unit / BESIDE, PARTS * PIECE / 8 + j));
    }
    end(out, of_h, under[e], row_of(unit), column_of(unit));
  }
)";

struct Sizes {
  int N, I, O, R;

  explicit Sizes(const ThinProduct& p)
      : N(static_cast<int>(p.x.size() / p.x.shape(-1))),
        I(p.x.shape(-1)),
        O(p.w.shape(0)),
        R(p.lora ? p.lora->a.shape(0) : 0) {}
};

/** How blocks share out a product. */
struct Division {
  int columns, split, stages, blocks;
  /** Rows of 64 numbers that a block reads, with what others give it: what fits the times of Qwen3-0.6B's products. */
  int cost;
};

constexpr int rows_of_block = 64;

int shared_bytes(const Sizes& s, int columns, int split, int stages) {
  const int across = std::max(split / 4, 1), owned = 64 / std::min(split, 4);
  const int stage = (columns + s.R + rows_of_block) * 128;
  const int of_b = s.R > 0 ? columns * (2 * s.R + 16) : 0;
  const int taken = split > 1 ? split * owned * (columns / across + s.R) * 4 : 0;
  return 1024 + stages * stage + of_b + taken;
}

// All blocks side by side, or none. Larger clusters find room for half as many blocks, unless two share a
// multiprocessor, which then has fewer stages each.
std::optional<Division> division(const Sizes& s, bool gated) {
  constexpr int whole = 226'000, half = 113'000, most_stages = 12;
  const int chunks = s.I / 64, processors = gpu_processors();
  std::optional<Division> best;
  for (int columns : {64, 128, 192}) {
    for (int split : {1, 2, 4, 8}) {
      const int piece = columns / (gated ? 2 : 1) / std::max(split / 4, 1);
      if (s.O % columns != 0 || chunks % split != 0 || piece % 32 != 0) {
        continue;
      }
      const int count = chunks / split;
      const int blocks = split * (s.O / columns) * ((s.N + rows_of_block - 1) / rows_of_block);
      const bool two = split >= 4 && blocks > processors / 2;
      int stages = std::min(count, most_stages);
      while (stages > 0 && shared_bytes(s, columns, split, stages) > (two ? half : whole)) {
        stages--;
      }
      if (blocks > processors || (two && split > 4) || stages < std::min(count, 3)) {
        continue;
      }
      const int cost =
          count * (columns + s.R + rows_of_block) + 5 * (split - 1) * (columns + s.R) / split;
      const Division d{columns, split, stages, blocks, two ? cost * 4 / 3 : cost};
      if (!best || d.cost < best->cost) {
        best = d;
      }
    }
  }
  return best;
}

}  // namespace

// Beyond, cuBLAS is quicker, though h, what LoRA adds and the gate are kernels of their own there. Of h's columns a warp
// has room for 64.
bool tile_product_fits_gpu(const ThinProduct& p) {
  const Sizes s(p);
  if (!gpu_multiplies_tiles() || s.N > (p.lora ? 256 : 128) || s.I % 64 != 0 || s.R % 16 != 0 ||
      s.R > 64) {
    return false;
  }
  const std::optional<Division> d = division(s, p.gated);
  return d && d->cost <= (p.lora ? 5000 : 2800);
}

mx::array tile_product_gpu(ThinProduct p) {
  static const GpuKernel kernel(
      "tile_product", {"x", "w", "a", "b", "onto"}, {"y"}, source, tile_helpers);
  if (p.norm) {
    p.x = rms_norm_gpu(p.x, p.norm->w, p.norm->eps);
    p.norm = std::nullopt;
  }
  const Sizes s(p);
  const Division d = *division(s, p.gated);
  const int high = (s.N + rows_of_block - 1) / rows_of_block;
  mx::Shape shape = p.x.shape();
  shape.back() = p.gated ? s.O / 2 : s.O;
  const mx::array &none = p.w, a = p.lora ? p.lora->a : none, b = p.lora ? p.lora->b : none;
  return kernel(
      {p.x, p.w, a, b, p.onto.value_or(none)},
      {{shape},
       {p.x.dtype()},
       {d.blocks / high, high, 1},
       384,
       {{"I", s.I},
        {"O", s.O},
        {"R", s.R},
        {"COLUMNS", d.columns},
        {"SPLIT", d.split},
        {"STAGES", d.stages},
        {"ONTO", p.onto.has_value()},
        {"GATED", p.gated}},
       {{"N", s.N}},
       1,
       d.split,
       shared_bytes(s, d.columns, d.split, d.stages)},
      {.recipe = p})[0];
}

}  // namespace atelier
