#include "kernels/adamw.h"

#include "kernels/parallel.h"

#define ATELIER_LOOPS "kernels/loops/adamw.h"
#include "kernels/loops/processors.h"

namespace atelier {

AdamWMoved adamw_plain(
    const mx::array& p,
    const mx::array& g,
    const mx::array& m,
    const mx::array& v,
    const AdamWNumbers& n) {
  auto f32 = [](float x) { return mx::array(x); };
  const mx::array m1 = m * f32(n.beta1) + g * f32(n.rest1);
  const mx::array v1 = v * f32(n.beta2) + mx::square(g) * f32(n.rest2);
  const mx::array root = mx::sqrt(v1) * f32(n.root) + f32(n.epsilon);
  const mx::array kept = n.keep == 1 ? p : p * f32(n.keep);
  return {kept - m1 / root * f32(n.rate), m1, v1};
}

AdamWMoved adamw_cpu(
    const mx::array& p,
    const mx::array& g,
    const mx::array& m,
    const mx::array& v,
    const AdamWNumbers& n) {
  CpuKernel kernel{"AdamWCpu", nullptr, nullptr};
  kernel.run = [n](const Arrays& in, Arrays& out) {
    const float *p = in[0].data<float>(), *g = in[1].data<float>(), *m = in[2].data<float>(),
                *v = in[3].data<float>();
    float *p1 = out[0].data<float>(), *m1 = out[1].data<float>(), *v1 = out[2].data<float>();
    constexpr size_t block = 1 << 15;
    const size_t size = in[0].size();
    parallel_for(static_cast<int>((size + block - 1) / block), 1, [&](int from, int to) {
      const size_t at = from * block, count = std::min(size, to * block) - at;
      ATELIER_LOOP(move)(
          n, p + at, g + at, m + at, v + at, p1 + at, m1 + at, v1 + at, static_cast<int>(count));
    });
  };
  const Arrays out = apply(
      kernel,
      {mx::contiguous(p), mx::contiguous(g), mx::contiguous(m), mx::contiguous(v)},
      {p.shape(), p.shape(), p.shape()});
  return {out[0], out[1], out[2]};
}

}  // namespace atelier
