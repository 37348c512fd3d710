#include "nn/linear.h"

namespace atelier {

mx::array linear(const Params& weights, const Params& lora, const std::string& product, const mx::array& x) {
  mx::array y = mx::matmul(x, mx::transpose(weights.at(product + ".weight")));
  auto a = lora.find(product + ".A");
  if (a == lora.end()) {
    return y;
  }
  mx::array xa = mx::matmul(x, mx::transpose(a->second));
  return mx::addmm(y, xa, mx::transpose(lora.at(product + ".B")));
}

} // namespace atelier
