// Shapes: N rows (one axis or more), I in, O out, R ranks side by side.
#include "nn/lora_linear.h"

#include "kernels/gpu/kernel.h"

namespace atelier {
namespace {

mx::array flat(const mx::array& x) {
  return x.ndim() == 2 ? x : mx::reshape(x, {-1, x.shape(-1)});
}

mx::array like(const mx::array& x, const mx::array& flat) {
  return x.ndim() == 2 ? flat : mx::reshape(flat, x.shape());
}

}  // namespace

bool lora_linear_fits(const Weight& w, const mx::array& a, const mx::array& x) {
  const bool frozen = w.quantised() || (w.floats().dtype() == x.dtype() && !w.floats().is_tracer());
  return gpu_kernels_for(x) && a.dtype() == x.dtype() && frozen;
}

mx::array lora_linear(
    const std::optional<mx::array>& onto,
    const Weight& w,
    const mx::array& a,
    const mx::array& b,
    const mx::array& x) {
  auto forward = [w](const Arrays& in) {
    const mx::array x_NI = flat(in[0]), &a_RI = in[1], &b_OR = in[2];
    const mx::array h_NR = Weight(a_RI).times(x_NI);
    const mx::array y_NO = in.size() > 3 ? w.times_onto(flat(in[3]), x_NI) : w.times(x_NI);
    mx::Shape shape = in[0].shape();
    shape.back() = w.out();
    return Arrays{mx::reshape(Weight(b_OR).times_onto(y_NO, h_NR), shape), h_NR};
  };
  auto backward = [w](const Arrays& in, const Arrays& g, const Arrays& out) {
    const mx::array &a_RI = in[1], &b_OR = in[2], g_NO = flat(g[0]), &h_NR = out[1];
    const mx::array g_NR = mx::matmul(g_NO, b_OR);
    const mx::array dx_NI = mx::addmm(w.back(g_NO), g_NR, a_RI);
    const mx::array x_NI = flat(again(in[0], {g_NR}));
    const Arrays of_lora{
        mx::matmul(mx::transpose(g_NR), x_NI), mx::matmul(mx::transpose(g_NO), h_NR)};
    // Gradients left for later would keep what they are made of.
    Arrays all{like(in[0], mx::depends({dx_NI}, of_lora)[0]), of_lora[0], of_lora[1]};
    if (in.size() > 3) {
      all.push_back(g[0]);
    }
    return all;
  };
  Arrays in{x, a, b};
  if (onto) {
    in.push_back(*onto);
  }
  return mx::custom_vjp(forward, backward)(in)[0];
}

}  // namespace atelier
