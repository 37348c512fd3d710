// Shapes: N rows, F features.
#include "kernels/swiglu.h"

#include "kernels/parallel.h"

#include <algorithm>

#define ATELIER_LOOPS "kernels/loops/swiglu.h"
#include "kernels/loops/processors.h"

namespace atelier {
namespace {

int grain(int F) {
  return std::max(1, 8192 / F);
}

mx::array gated_cpu(const char* name, const char* vjp_name, bool gelu, const mx::array& gate_up) {
  mx::Shape shape = gate_up.shape();
  shape.back() /= 2;
  CpuKernel kernel{name, nullptr, nullptr};
  kernel.run = [gelu](const Arrays& in, Arrays& out) {
    const int F = out[0].shape(-1), N = static_cast<int>(out[0].size() / F);
    const float* x = in[0].data<float>();
    float* y = out[0].data<float>();
    parallel_for(N, grain(F), [&](int from, int to) {
      ATELIER_LOOP(forward)(gelu, x + int64_t{from} * 2 * F, y + int64_t{from} * F, to - from, F);
    });
  };
  kernel.vjp =
      [gelu, vjp_name](
          const Arrays& in, const Arrays& cotangents, const Arrays&, const std::vector<int>&) {
        CpuKernel grad{vjp_name, nullptr, nullptr};
        grad.run = [gelu](const Arrays& in, Arrays& out) {
          const int F = in[1].shape(-1), N = static_cast<int>(in[1].size() / F);
          const float *x = in[0].data<float>(), *g = in[1].data<float>();
          float* dx = out[0].data<float>();
          parallel_for(N, grain(F), [&](int from, int to) {
            const int64_t at = int64_t{from} * F;
            ATELIER_LOOP(backward)(gelu, x + 2 * at, g + at, dx + 2 * at, to - from, F);
          });
        };
        return apply(grad, {in[0], mx::contiguous(cotangents[0])}, {in[0].shape()});
      };
  return apply(kernel, {mx::contiguous(gate_up)}, {shape})[0];
}

}  // namespace

mx::array swiglu_plain(const mx::array& gate_up) {
  const std::vector<mx::array> part = mx::split(gate_up, 2, -1);
  return part[0] * mx::sigmoid(part[0]) * part[1];
}

mx::array swiglu_cpu(const mx::array& gate_up) {
  return gated_cpu("SwigluCpu", "SwigluCpuVjp", false, gate_up);
}

mx::array geglu_plain(const mx::array& gate_up) {
  const std::vector<mx::array> part = mx::split(gate_up, 2, -1);
  const mx::array x = mx::astype(part[0], mx::float32);
  const mx::array u =
      x * (mx::array(common::GeluTanh::a) + mx::array(common::GeluTanh::b) * mx::square(x));
  return mx::astype(x * mx::sigmoid(u), gate_up.dtype()) * part[1];
}

mx::array geglu_cpu(const mx::array& gate_up) {
  return gated_cpu("GegluCpu", "GegluCpuVjp", true, gate_up);
}

}  // namespace atelier
