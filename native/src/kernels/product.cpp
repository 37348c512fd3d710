// Shapes: N rows, I in, O out.
#include "kernels/product.h"

#include "kernels/gemm.h"

#include <algorithm>
#include <cstdint>

namespace atelier {
namespace {

bool wants(const std::vector<int>& wanted, int index) {
  return std::find(wanted.begin(), wanted.end(), index) != wanted.end();
}

mx::array gradient_of_x(const mx::array& g, const mx::array& w, const mx::Shape& shape) {
  CpuKernel kernel{"ProductCpuVjpX", nullptr, nullptr};
  kernel.run = [](const Arrays& in, Arrays& out) {
    const int O = in[1].shape(0), I = in[1].shape(1), N = static_cast<int>(in[0].size() / O);
    gemm_divided(
        N,
        I,
        O,
        gradient_depth,
        rows_of(in[0].data<float>(), O),
        rows_of(in[1].data<float>(), I),
        out[0].data<float>());
  };
  return apply(kernel, {g, w}, {shape})[0];
}

mx::array gradient_of_w(const mx::array& g, const mx::array& x, const mx::Shape& shape) {
  CpuKernel kernel{"ProductCpuVjpW", nullptr, nullptr};
  kernel.run = [](const Arrays& in, Arrays& out) {
    const int O = out[0].shape(0), I = out[0].shape(1), N = static_cast<int>(in[0].size() / O);
    gemm_divided(
        O,
        I,
        N,
        gradient_depth,
        columns_of(in[0].data<float>(), O),
        rows_of(in[1].data<float>(), I),
        out[0].data<float>());
  };
  return apply(kernel, {g, x}, {shape})[0];
}

}  // namespace

mx::array product_back_cpu(const mx::array& g, const mx::array& w) {
  mx::Shape shape = g.shape();
  shape.back() = w.shape(1);
  return gradient_of_x(mx::contiguous(g), mx::contiguous(w), shape);
}

mx::array product_plain(const mx::array& x, const mx::array& w) {
  return mx::matmul(x, mx::transpose(w));
}

mx::array product_cpu(const mx::array& x, const mx::array& w) {
  CpuKernel kernel{"ProductCpu", nullptr, nullptr};
  kernel.run = [](const Arrays& in, Arrays& out) {
    const int O = in[1].shape(0), I = in[1].shape(1), N = static_cast<int>(in[0].size() / I);
    gemm_divided(
        N,
        O,
        I,
        forward_depth,
        rows_of(in[0].data<float>(), I),
        columns_of(in[1].data<float>(), I),
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
