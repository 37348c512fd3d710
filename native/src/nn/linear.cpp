#include "nn/linear.h"

#include "kernels/product.h"

namespace atelier {

mx::array product(const mx::array& x, const mx::array& w) {
  return cpu_kernels_for(x) && w.dtype() == mx::float32 ? product_cpu(x, w) : product_plain(x, w);
}

mx::array
linear(const Params& weights, const Params& lora, const std::string& name, const mx::array& x) {
  mx::array y = product(x, weights.at(name + ".weight"));
  if (auto bias = weights.find(name + ".bias"); bias != weights.end()) {
    y = y + bias->second;
  }
  auto a = lora.find(name + ".A");
  if (a == lora.end()) {
    return y;
  }
  return y + product(product(x, a->second), lora.at(name + ".B"));
}

}  // namespace atelier
