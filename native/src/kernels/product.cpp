// Shapes: N rows, I in, O out.
#include "kernels/product.h"

#include "kernels/blas.h"
#include "kernels/parallel.h"

#include <algorithm>
#include <cstdint>

namespace atelier {
namespace {

// c [m, n] = a b, cut along the longer side: BLAS packs the other operand again for each piece. The pieces depend
// on the sizes alone.
void divided(int m, int n, int k, int depth, Matrix a, Matrix b, float* c) {
  constexpr int64_t work = 2'000'000;  // multiply-adds that are worth a thread
  auto piece = [&](int64_t other, int64_t least) {
    const int64_t size = std::max(work / std::max<int64_t>(1, other * k) + 1, least);
    return static_cast<int>(std::min<int64_t>((size + 15) / 16 * 16, 1 << 30));
  };
  if (m > n) {
    const int64_t down = a.transposed ? 1 : a.step;
    // Packing b for a few rows takes a third of the time: no more pieces than 16 threads need.
    parallel_for(m, piece(n, m / 16), [&](int from, int to) {
      sgemm_in_parts(
          to - from,
          n,
          k,
          depth,
          {a.data + from * down, a.step, a.transposed},
          b,
          c + int64_t{from} * n,
          n);
    });
  } else {
    const int64_t right = b.transposed ? b.step : 1;
    parallel_for(n, piece(m, 0), [&](int from, int to) {
      sgemm_in_parts(
          m, to - from, k, depth, a, {b.data + from * right, b.step, b.transposed}, c + from, n);
    });
  }
}

bool wants(const std::vector<int>& wanted, int index) {
  return std::find(wanted.begin(), wanted.end(), index) != wanted.end();
}

mx::array gradient_of_x(const mx::array& g, const mx::array& w, const mx::Shape& shape) {
  CpuKernel kernel{"ProductCpuVjpX", nullptr, nullptr};
  kernel.run = [](const Arrays& in, Arrays& out) {
    const int O = in[1].shape(0), I = in[1].shape(1), N = static_cast<int>(in[0].size() / O);
    divided(
        N,
        I,
        O,
        gradient_depth,
        {in[0].data<float>(), O},
        {in[1].data<float>(), I},
        out[0].data<float>());
  };
  return apply(kernel, {g, w}, {shape})[0];
}

mx::array gradient_of_w(const mx::array& g, const mx::array& x, const mx::Shape& shape) {
  CpuKernel kernel{"ProductCpuVjpW", nullptr, nullptr};
  kernel.run = [](const Arrays& in, Arrays& out) {
    const int O = out[0].shape(0), I = out[0].shape(1), N = static_cast<int>(in[0].size() / O);
    divided(
        O,
        I,
        N,
        gradient_depth,
        {in[0].data<float>(), O, true},
        {in[1].data<float>(), I},
        out[0].data<float>());
  };
  return apply(kernel, {g, x}, {shape})[0];
}

}  // namespace

mx::array product_plain(const mx::array& x, const mx::array& w) {
  return mx::matmul(x, mx::transpose(w));
}

mx::array product_cpu(const mx::array& x, const mx::array& w) {
  CpuKernel kernel{"ProductCpu", nullptr, nullptr};
  kernel.run = [](const Arrays& in, Arrays& out) {
    const int O = in[1].shape(0), I = in[1].shape(1), N = static_cast<int>(in[0].size() / I);
    divided(
        N,
        O,
        I,
        forward_depth,
        {in[0].data<float>(), I},
        {in[1].data<float>(), I, true},
        out[0].data<float>());
  };
  kernel.vjp = [](const Arrays& in,
                  const Arrays& cotangents,
                  const Arrays&,
                  const std::vector<int>& wanted) {
    const mx::array g = mx::contiguous(cotangents[0]);
    return Arrays{
        wants(wanted, 0) ? gradient_of_x(g, in[1], in[0].shape()) : in[0],
        wants(wanted, 1) ? gradient_of_w(g, in[0], in[1].shape()) : in[1]};
  };
  mx::Shape shape = x.shape();
  shape.back() = w.shape(0);
  return apply(kernel, {mx::contiguous(x), mx::contiguous(w)}, {shape})[0];
}

}  // namespace atelier
