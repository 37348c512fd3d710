// Shapes: N rows, O features, F = O / 2 of a gated one, R ranks.
#include "kernels/lora_sum.h"

#include "kernels/gpu/kernel.h"
#include "kernels/swiglu.h"

namespace atelier {
namespace {

// A warp makes 16 rows of 32 features on the tensor cores: four tiles of 8, whose columns are dealt out so that a lane
// holds 8 features in a row, 16 bytes.
const char* source = R"(
  constexpr int PARTS = GATED ? 2 : 1, F = O / PARTS;
  const int warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int row = warp / (F / 32) * 16, first = warp % (F / 32) * 32;
  if (row >= N) return;
  const int rows[2] = {min(row + g, N - 1), min(row + g + 8, N - 1)};
  Pack<T, 8> held[PARTS][2];
#pragma unroll
  for (int p = 0; p < PARTS; p++) {
    for (int i = 0; i < 2; i++) held[p][i] = load<8>(y + size_t(rows[i]) * O + p * F + first + 8 * t);
  }
  float more[PARTS][4][4] = {};
#pragma unroll
  for (int s = 0; s < R; s += 16) {
    const T *upper = h + size_t(rows[0]) * R + s + 2 * t, *lower = h + size_t(rows[1]) * R + s + 2 * t;
    const unsigned a0 = word(upper), a1 = word(lower), a2 = word(upper + 8), a3 = word(lower + 8);
#pragma unroll
    for (int p = 0; p < PARTS; p++) {
#pragma unroll
      for (int j = 0; j < 4; j++) {
        const T* of = b + size_t(p * F + first + g / 2 * 8 + 2 * j + g % 2) * R + s + 2 * t;
        multiply(more[p][j], a0, a1, a2, a3, word(of), word(of + 8), T());
      }
    }
  }
  for (int i = 0; i < 2; i++) {
    if (row + g + 8 * i >= N) continue;
    for (int j = 0; j < 8; j++) {
      const T one = T(float(held[0][i].v[j]) + more[0][j / 2][2 * i + j % 2]);
      if (GATED) {
        const float gate = float(one);
        const T up = T(float(held[PARTS - 1][i].v[j]) + more[PARTS - 1][j / 2][2 * i + j % 2]);
        held[0][i].v[j] = T(gate / (1.0f + __expf(-gate)) * float(up));
      } else {
        held[0][i].v[j] = one;
      }
    }
    store<8>(out + size_t(rows[i]) * F + first + 8 * t, held[0][i]);
  }
)";

// Each 16 rows read all of B once more.
constexpr size_t most_rows = 512;

struct LoraSum {
  mx::array y, h, b;
};

mx::array made(const LoraSum& sum, bool gated) {
  static const GpuKernel kernel("lora_sum", {"y", "h", "b"}, {"out"}, source);
  const int O = sum.y.shape(-1), R = sum.h.shape(-1), F = gated ? O / 2 : O;
  const int N = static_cast<int>(sum.y.size() / O);
  mx::Shape shape = sum.y.shape();
  shape.back() = F;
  const int warps = (N + 15) / 16 * (F / 32);
  return kernel(
      {sum.y, sum.h, sum.b},
      {{shape},
       {sum.y.dtype()},
       {(warps + 3) / 4, 1, 1},
       128,
       {{"O", O}, {"R", R}, {"GATED", gated}},
       {{"N", N}}},
      {.recipe = sum})[0];
}

}  // namespace

mx::array lora_sum_plain(const mx::array& y, const mx::array& h, const mx::array& b) {
  return y + mx::matmul(h, mx::transpose(b));
}

bool lora_sum_fits_gpu(const mx::array& y, const mx::array& h, const mx::array& b) {
  auto same = [&](const mx::array& a) { return a.dtype() == y.dtype() && !a.is_tracer(); };
  return gpu_kernels_for(y) && y.dtype() != mx::float32 && same(y) && same(h) && same(b) &&
         y.size() > 0 && y.size() / y.shape(-1) <= most_rows && y.shape(-1) % 32 == 0 &&
         h.shape(-1) % 16 == 0;
}

mx::array lora_sum_gpu(const mx::array& y, const mx::array& h, const mx::array& b) {
  return made({y, h, b}, false);
}

std::optional<mx::array> lora_sum_gated_gpu(const mx::array& gate_up) {
  const auto* sum = recipe_of<LoraSum>(gate_up);
  return sum && gate_up.shape(-1) % 64 == 0 ? std::optional(made(*sum, true)) : std::nullopt;
}

}  // namespace atelier
