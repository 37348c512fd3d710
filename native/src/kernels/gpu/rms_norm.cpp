// Shapes: N rows, D the normalised axis.
#include "kernels/rms_norm.h"
#include "kernels/gpu/kernel.h"

#include <algorithm>

namespace atelier {
namespace {

// A block a row; each thread keeps PER packs of W numbers in registers.
const char* forward_source = R"(
  __shared__ float room[32];
  const T* row = x + size_t(blockIdx.x) * D;
  Pack<T, W> held[PER];
  float squares = 0;
  for (int k = 0; k < PER; k++) {
    const int i = (k * THREADS + threadIdx.x) * W;
    if (i < D) {
      held[k] = load<W>(row + i);
      for (int j = 0; j < W; j++) { const float a = float(held[k].v[j]); squares += a * a; }
    }
  }
  const float r = rsqrtf(block_sum(squares, room) / D + as_float(EPS));
  for (int k = 0; k < PER; k++) {
    const int i = (k * THREADS + threadIdx.x) * W;
    if (i < D) {
      const Pack<T, W> scale = load<W>(w + i);
      for (int j = 0; j < W; j++) held[k].v[j] = T(float(held[k].v[j]) * r * float(scale.v[j]));
      store<W>(y + size_t(blockIdx.x) * D + i, held[k]);
    }
  }
)";

// dx = r (g w - x r² mean(g w x)).
const char* backward_source = R"(
  __shared__ float room[32];
  const size_t at = size_t(blockIdx.x) * D;
  Pack<T, W> held[PER];
  float gw[PER][W];
  float squares = 0, along = 0;
  for (int k = 0; k < PER; k++) {
    const int i = (k * THREADS + threadIdx.x) * W;
    if (i < D) {
      held[k] = load<W>(x + at + i);
      const Pack<T, W> scale = load<W>(w + i), cotangent = load<W>(g + at + i);
      for (int j = 0; j < W; j++) {
        const float a = float(held[k].v[j]);
        gw[k][j] = float(cotangent.v[j]) * float(scale.v[j]);
        squares += a * a;
        along += a * gw[k][j];
      }
    }
  }
  const float r = rsqrtf(block_sum(squares, room) / D + as_float(EPS));
  const float by = r * r * block_sum(along, room) / D;
  for (int k = 0; k < PER; k++) {
    const int i = (k * THREADS + threadIdx.x) * W;
    if (i < D) {
      for (int j = 0; j < W; j++) held[k].v[j] = T(r * (gw[k][j] - float(held[k].v[j]) * by));
      store<W>(dx + at + i, held[k]);
    }
  }
)";

GpuLaunch launch(const mx::array& x, float eps) {
  const int D = x.shape(-1), W = 16 / static_cast<int>(x.dtype().size());
  const int threads = std::clamp((D / W + 31) / 32 * 32, 32, D > 4096 ? 512 : 128);
  const int per = (D / W + threads - 1) / threads;
  return {
      {x.shape()},
      {x.dtype()},
      {static_cast<int>(x.size() / D), 1, 1},
      threads,
      {{"D", D}, {"W", W}, {"THREADS", threads}, {"PER", per}, {"EPS", float_bits(eps)}}};
}

}  // namespace

bool rms_norm_fits_gpu(const mx::array& x, const mx::array& w) {
  const int W = 16 / static_cast<int>(x.dtype().size());
  return gpu_kernels_for(x) && w.dtype() == x.dtype() && x.size() > 0 && x.shape(-1) % W == 0 &&
         x.shape(-1) <= 8192;
}

mx::array rms_norm_gpu(const mx::array& x, const mx::array& w, float eps) {
  static const GpuKernel forward("rms_norm", {"x", "w"}, {"y"}, forward_source);
  static const GpuKernel backward("rms_norm_vjp", {"x", "w", "g"}, {"dx"}, backward_source);
  auto vjp = [eps](
                 const Arrays& in,
                 const Arrays& cotangents,
                 const Arrays&,
                 const std::vector<int>& wanted) {
    if (std::find(wanted.begin(), wanted.end(), 1) != wanted.end()) {
      // The weight's gradient too: MLX's kernel makes both.
      return mx::vjp(
                 [eps](const Arrays& a) { return Arrays{rms_norm_plain(a[0], a[1], eps)}; },
                 in,
                 cotangents)
          .second;
    }
    return Arrays{backward({in[0], in[1], cotangents[0]}, launch(in[0], eps))[0], in[1]};
  };
  return forward({x, w}, launch(x, eps), vjp)[0];
}

}  // namespace atelier
