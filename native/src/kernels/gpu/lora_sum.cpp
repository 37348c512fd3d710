// Shapes: N rows, O features, F = O / 2 of a gated one, R ranks. A row of y is Y long, one of h is H, from AT on.
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
    for (int i = 0; i < 2; i++) held[p][i] = load<8>(y + size_t(rows[i]) * Y + p * F + first + 8 * t);
  }
  Pack<T, 8> beside[2];
  if (ONTO) {
    for (int i = 0; i < 2; i++) beside[i] = load<8>(onto + size_t(rows[i]) * O + first + 8 * t);
  }
  float more[PARTS][4][4] = {};
#pragma unroll
  for (int s = 0; s < R; s += 16) {
    const T *upper = h + size_t(rows[0]) * H + AT + s + 2 * t, *lower = h + size_t(rows[1]) * H + AT + s + 2 * t;
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
      const float sum = float(held[0][i].v[j]) + more[0][j / 2][2 * i + j % 2];
      const T one = T(ONTO ? float(beside[i].v[j]) + sum : sum);
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

mx::array made(const LoraSum& sum, bool gated) {
  static const GpuKernel kernel("lora_sum", {"y", "h", "b", "onto"}, {"out"}, source);
  const mx::array &h = sum.h.value_or(sum.y), &onto = sum.onto.value_or(sum.y);
  const int O = sum.b.shape(0), R = sum.b.shape(1), Y = sum.y.shape(-1), F = gated ? O / 2 : O;
  const int N = static_cast<int>(sum.y.size() / Y);
  mx::Shape shape = sum.y.shape();
  shape.back() = F;
  const int warps = (N + 15) / 16 * (F / 32);
  return kernel(
      {sum.y, h, sum.b, onto},
      {{shape},
       {sum.y.dtype()},
       {(warps + 3) / 4, 1, 1},
       128,
       {{"O", O},
        {"R", R},
        {"Y", Y},
        {"H", h.shape(-1)},
        {"AT", sum.h ? 0 : O},
        {"ONTO", sum.onto.has_value()},
        {"GATED", gated}},
       {{"N", N}}},
      {.recipe = sum})[0];
}

}  // namespace

mx::array lora_sum_plain(const LoraSum& sum) {
  const int O = sum.b.shape(0);
  const Arrays parts = sum.h ? Arrays{sum.y, *sum.h} : mx::split(sum.y, {O}, -1);
  const mx::array y = parts[0] + mx::matmul(parts[1], mx::transpose(sum.b));
  return sum.onto ? *sum.onto + y : y;
}

bool lora_sum_fits_gpu(const LoraSum& sum) {
  const mx::array& y = sum.y;
  auto same = [&](const mx::array& a) { return a.dtype() == y.dtype() && !a.is_tracer(); };
  return gpu_kernels_for(y) && y.dtype() != mx::float32 && same(y) && same(sum.b) &&
         (!sum.h || same(*sum.h)) && (!sum.onto || same(*sum.onto)) && y.size() > 0 &&
         y.size() / y.shape(-1) <= lora_sum_rows && sum.b.shape(0) % lora_sum_features == 0 &&
         sum.b.shape(1) % lora_sum_ranks == 0;
}

mx::array lora_sum_gpu(const LoraSum& sum) {
  return made(sum, false);
}

std::optional<mx::array> lora_sum_gated_gpu(const mx::array& gate_up) {
  const auto* sum = recipe_of<LoraSum>(gate_up);
  return sum && !sum->onto && gate_up.shape(-1) % 64 == 0 ? std::optional(made(*sum, true))
                                                          : std::nullopt;
}

}  // namespace atelier
