// Shapes: N rows, F features.
#include "kernels/swiglu.h"
#include "kernels/gpu/kernel.h"

namespace atelier {
namespace {

// A thread W features of one row.
const char* forward_source = R"(
  const int64_t n = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t at = n * W, row = at / F, i = at % F;
  if (row >= N) return;
  const Pack<T, W> gate = load<W>(x + row * 2 * F + i), up = load<W>(x + row * 2 * F + F + i);
  Pack<T, W> out;
  for (int j = 0; j < W; j++) {
    const float a = float(gate.v[j]);
    out.v[j] = T(a / (1.0f + __expf(-a)) * float(up.v[j]));
  }
  store<W>(y + at, out);
)";

// d gate = g up (s + gate s (1 - s)), d up = g gate s, with s = sigmoid(gate).
const char* backward_source = R"(
  const int64_t n = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t at = n * W, row = at / F, i = at % F;
  if (row >= N) return;
  Pack<T, W> gate = load<W>(x + row * 2 * F + i), up = load<W>(x + row * 2 * F + F + i);
  const Pack<T, W> cotangent = load<W>(g + at);
  for (int j = 0; j < W; j++) {
    const float a = float(gate.v[j]), b = float(up.v[j]), c = float(cotangent.v[j]);
    const float s = 1.0f / (1.0f + __expf(-a)), silu = a * s;
    gate.v[j] = T(c * b * (s + silu * (1.0f - s)));
    up.v[j] = T(c * silu);
  }
  store<W>(dx + row * 2 * F + i, gate);
  store<W>(dx + row * 2 * F + F + i, up);
)";

GpuLaunch launch(const mx::array& gate_up, const mx::Shape& out) {
  const int F = gate_up.shape(-1) / 2, W = 16 / static_cast<int>(gate_up.dtype().size());
  const int N = static_cast<int>(gate_up.size() / (2 * F));
  const int64_t packs = int64_t{N} * (F / W);
  return {
      {out},
      {gate_up.dtype()},
      {static_cast<int>((packs + 255) / 256), 1, 1},
      256,
      {{"F", F}, {"W", W}},
      {{"N", N}}};
}

}  // namespace

bool swiglu_fits_gpu(const mx::array& gate_up) {
  const int W = 16 / static_cast<int>(gate_up.dtype().size());
  return gpu_kernels_for(gate_up) && gate_up.size() > 0 && gate_up.shape(-1) % (2 * W) == 0;
}

mx::array swiglu_gpu(const mx::array& gate_up) {
  static const GpuKernel forward("swiglu", {"x"}, {"y"}, forward_source);
  static const GpuKernel backward("swiglu_vjp", {"x", "g"}, {"dx"}, backward_source);
  mx::Shape shape = gate_up.shape();
  shape.back() /= 2;
  return forward(
      {gate_up},
      launch(gate_up, shape),
      {.vjp =
           [](const Arrays& in, const Arrays& cotangents, const Arrays&, const std::vector<int>&) {
             return backward({in[0], cotangents[0]}, launch(in[0], in[0].shape()));
           },
       .light = true})[0];
}

}  // namespace atelier
