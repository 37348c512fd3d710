// Shapes: N rows, D the normalised axis.
#include "kernels/rms_norm.h"
#include "kernels/gpu/kernel.h"

#include <algorithm>

namespace atelier {
namespace {

// A block a row, or a warp where there are many short ones; each thread keeps PER packs of W numbers in registers.
const char* common = R"(
  start_next();
  wait_for_previous();
  __shared__ float room[32];
  const int thread = ROWS ? threadIdx.x % 32 : threadIdx.x;
  const int64_t n = ROWS ? int64_t(blockIdx.x) * ROWS + threadIdx.x / 32 : blockIdx.x;
  if (n >= N) return;
  const size_t start = size_t(n) * D;
  auto sum = [&](float a) { return ROWS ? warp_sum(a) : block_sum(a, room); };
)";

const char* forward_source = R"(
  const T* row = x + start;
  Pack<T, W> held[PER];
  float squares = 0;
  for (int k = 0; k < PER; k++) {
    const int i = (k * THREADS + thread) * W;
    if (i < D) held[k] = load<W>(row + i);
  }
  for (int k = 0; k < PER; k++) {
    const int i = (k * THREADS + thread) * W;
    if (i < D) {
      for (int j = 0; j < W; j++) { const float a = float(held[k].v[j]); squares += a * a; }
    }
  }
  const float r = rsqrtf(sum(squares) / D + as_float(EPS));
  for (int k = 0; k < PER; k++) {
    const int i = (k * THREADS + thread) * W;
    if (i < D) {
      const Pack<T, W> scale = load<W>(w + i);
      for (int j = 0; j < W; j++) held[k].v[j] = T(float(held[k].v[j]) * r * float(scale.v[j]));
      store<W>(y + start + i, held[k]);
    }
  }
)";

// dx = onto + r (g w - x r² mean(g w x)).
const char* backward_source = R"(
  Pack<T, W> held[PER];
  float gw[PER][W];
  float squares = 0, along = 0;
  for (int k = 0; k < PER; k++) {
    const int i = (k * THREADS + thread) * W;
    if (i < D) {
      held[k] = load<W>(x + start + i);
      const Pack<T, W> scale = load<W>(w + i), cotangent = load<W>(g + start + i);
      for (int j = 0; j < W; j++) {
        const float a = float(held[k].v[j]);
        gw[k][j] = float(cotangent.v[j]) * float(scale.v[j]);
        squares += a * a;
        along += a * gw[k][j];
      }
    }
  }
  const float r = rsqrtf(sum(squares) / D + as_float(EPS));
  const float by = r * r * sum(along) / D;
  for (int k = 0; k < PER; k++) {
    const int i = (k * THREADS + thread) * W;
    if (i < D) {
      Pack<T, W> rest;
      if (ONTO) rest = load<W>(onto + start + i);
      for (int j = 0; j < W; j++) {
        const float d = r * (gw[k][j] - float(held[k].v[j]) * by);
        held[k].v[j] = T(ONTO ? float(rest.v[j]) + d : d);
      }
      store<W>(dx + start + i, held[k]);
    }
  }
)";

GpuLaunch launch(const mx::array& x, float eps) {
  const int D = x.shape(-1), W = 16 / static_cast<int>(x.dtype().size());
  const int N = static_cast<int>(x.size() / D);
  const int rows = D / W <= 128 && N >= 2048 ? 8 : 0;
  const int threads = rows ? 32 : std::clamp((D / W + 31) / 32 * 32, 32, D > 4096 ? 512 : 128);
  const int per = (D / W + threads - 1) / threads;
  return {
      {x.shape()},
      {x.dtype()},
      {rows ? (N + rows - 1) / rows : N, 1, 1},
      rows ? 32 * rows : threads,
      {{"D", D},
       {"W", W},
       {"ROWS", rows},
       {"THREADS", threads},
       {"PER", per},
       {"EPS", float_bits(eps)}},
      {{"N", N}}};
}

}  // namespace

bool rms_norm_fits_gpu(const mx::array& x, const mx::array& w) {
  const int W = 16 / static_cast<int>(x.dtype().size());
  return gpu_kernels_for(x) && w.dtype() == x.dtype() && x.size() > 0 && x.shape(-1) % W == 0 &&
         x.shape(-1) <= 8192;
}

namespace {

// With `onto`, what the gradient by x is added to.
mx::array gradient_of_x(
    const Arrays& in,
    const mx::array& g,
    const std::optional<mx::array>& onto,
    float eps) {
  static const GpuKernel backward(
      "rms_norm_vjp", {"x", "w", "g", "onto"}, {"dx"}, std::string(common) + backward_source);
  GpuLaunch how = launch(in[0], eps);
  how.constants.emplace_back("ONTO", onto.has_value());
  return backward({in[0], in[1], g, onto.value_or(g)}, how)[0];
}

Arrays gradients(
    const Arrays& in,
    const mx::array& g,
    const std::optional<mx::array>& onto,
    const std::vector<int>& wanted,
    float eps) {
  if (std::find(wanted.begin(), wanted.end(), 1) == wanted.end()) {
    return {gradient_of_x(in, g, onto, eps), in[1]};
  }
  // The weight's gradient too: MLX's kernel makes both.
  Arrays both =
      mx::vjp([eps](const Arrays& a) { return Arrays{rms_norm_plain(a[0], a[1], eps)}; }, in, {g})
          .second;
  if (onto) {
    both[0] = both[0] + *onto;
  }
  return both;
}

const GpuKernel& forward() {
  static const GpuKernel kernel(
      "rms_norm", {"x", "w"}, {"y"}, std::string(common) + forward_source);
  return kernel;
}

}  // namespace

mx::array rms_norm_gpu(const mx::array& x, const mx::array& w, float eps) {
  auto vjp = [eps](
                 const Arrays& in, const Arrays& g, const Arrays&, const std::vector<int>& wanted) {
    return gradients(in, g[0], std::nullopt, wanted, eps);
  };
  return forward()(
      {x, w}, launch(x, eps), {.vjp = vjp, .light = true, .recipe = NormRecipe{eps}})[0];
}

NormBranch rms_norm_branch_gpu(const mx::array& x, const mx::array& w, float eps) {
  auto vjp = [eps](
                 const Arrays& in, const Arrays& g, const Arrays&, const std::vector<int>& wanted) {
    return gradients(in, g[1], g[0], wanted, eps);
  };
  const Arrays out = forward()({x, w}, launch(x, eps), {.vjp = vjp, .passed = {0}, .light = true});
  return {out[0], out[1]};
}

}  // namespace atelier
