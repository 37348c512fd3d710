#include "kernels/adamw.h"
#include "kernels/gpu/kernel.h"

namespace atelier {
namespace {

const char* source = R"(
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= N) return;
  const float beta1 = n[0], beta2 = n[1], epsilon = n[2], rest1 = n[3], rest2 = n[4];
  const float keep = n[5], rate = n[6], root = n[7];
  const float m = beta1 * m0[i] + rest1 * g[i];
  const float v = beta2 * v0[i] + rest2 * g[i] * g[i];
  m1[i] = m;
  v1[i] = v;
  p1[i] = keep * p[i] - rate * m / (root * sqrtf(v) + epsilon);
)";

}  // namespace

bool adamw_fits_gpu(const mx::array& p) {
  return gpu_kernels_for(p) && p.dtype() == mx::float32 && p.size() > 0;
}

AdamWMoved adamw_gpu(
    const mx::array& p,
    const mx::array& g,
    const mx::array& m,
    const mx::array& v,
    const AdamWNumbers& n) {
  static const GpuKernel kernel("adamw", {"p", "g", "m0", "v0", "n"}, {"p1", "m1", "v1"}, source);
  // They change with every update, and what a launch is called with is kept: an array, so that it is the same launch.
  const mx::array numbers({n.beta1, n.beta2, n.epsilon, n.rest1, n.rest2, n.keep, n.rate, n.root});
  const int threads = 256, N = static_cast<int>(p.size());
  const Arrays out = kernel(
      {p, g, m, v, numbers},
      {{p.shape(), p.shape(), p.shape()},
       {mx::float32, mx::float32, mx::float32},
       {(N + threads - 1) / threads, 1, 1},
       threads,
       {},
       {{"N", N}}});
  return {out[0], out[1], out[2]};
}

}  // namespace atelier
