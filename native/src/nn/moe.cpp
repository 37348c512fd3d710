// Shapes: N tokens, K experts of each, M = N K rows in order of their experts, E experts, D model, F features.
#include "nn/moe.h"

#include "kernels/expert_product.h"
#include "nn/block.h"

#include <limits>

namespace atelier {
namespace {

mx::array expert_product(const mx::array& x, const mx::array& w, const mx::array& expert_M) {
  return cpu_kernels_for(x) && w.dtype() == mx::float32 ? expert_product_cpu(x, w, expert_M)
                                                        : expert_product_plain(x, w, expert_M);
}

mx::array expert_linear(
    const Params& weights,
    const Params& lora,
    const std::string& name,
    const mx::array& x_MD,
    const mx::array& expert_M) {
  const mx::array y = expert_product(x_MD, weights.at(name + ".weight"), expert_M);
  auto a = lora.find(name + ".A");
  if (a == lora.end()) {
    return y;
  }
  return y +
         expert_product(expert_product(x_MD, a->second, expert_M), lora.at(name + ".B"), expert_M);
}

}  // namespace

Routing softmax_routing(const mx::array& logits_NE, int chosen, bool normalise) {
  const mx::array p = mx::softmax(logits_NE, -1, true);
  const mx::array order = mx::argpartition(mx::negative(mx::stop_gradient(p)), chosen - 1, -1);
  const mx::array experts = mx::slice(order, {0, 0}, {p.shape(0), chosen});
  mx::array shares = mx::take_along_axis(p, experts, -1);
  if (normalise) {
    shares = shares / mx::sum(shares, -1, true);
  }
  return {mx::astype(experts, mx::int32), shares};
}

Routing grouped_routing(
    const mx::array& logits_NE,
    const mx::array& bias_E,
    const GroupedRouting& routing) {
  const int N = logits_NE.shape(0), E = logits_NE.shape(1), G = routing.groups;
  const mx::array scores = mx::sigmoid(logits_NE);
  const mx::array choice =
      mx::reshape(mx::stop_gradient(scores + mx::astype(bias_E, mx::float32)), {N, G, E / G});
  const mx::array best = mx::sum(mx::topk(choice, 2, -1), -1);
  // Of equal groups the first counts, as with argsort of the negated sums.
  const mx::array rank = mx::argsort(mx::argsort(mx::negative(best), -1), -1);
  const mx::array open = mx::less(mx::astype(rank, mx::int32), mx::array(routing.chosen_groups));
  const mx::array among = mx::reshape(
      mx::where(
          mx::expand_dims(open, 2), choice, mx::array(-std::numeric_limits<float>::infinity())),
      {N, E});
  const mx::array order = mx::argpartition(mx::negative(among), routing.chosen - 1, -1);
  const mx::array experts = mx::slice(order, {0, 0}, {N, routing.chosen});
  mx::array shares = mx::take_along_axis(scores, experts, -1);
  if (routing.normalise) {
    shares = shares / (mx::sum(shares, -1, true) + mx::array(1e-20f));
  }
  return {mx::astype(experts, mx::int32), shares * mx::array(routing.factor)};
}

mx::array experts_mlp(
    const Params& weights,
    const Params& lora,
    const std::string& name,
    const mx::array& x_ND,
    const Routing& routing) {
  const int N = x_ND.shape(0), K = routing.experts_NK.shape(1);
  const mx::array expert = mx::flatten(routing.experts_NK);
  const mx::array order = mx::argsort(expert);
  const mx::array expert_M = mx::take(expert, order, 0);
  const mx::array token_M = mx::floor_divide(order, mx::array(K, order.dtype()));
  const mx::array gate_up =
      expert_linear(weights, lora, name + ".gate_up_proj", mx::take(x_ND, token_M, 0), expert_M);
  const mx::array y_MD =
      expert_linear(weights, lora, name + ".down_proj", swiglu(gate_up), expert_M);
  const mx::array y_NKD = mx::reshape(mx::take(y_MD, mx::argsort(order), 0), {N, K, -1});
  const mx::array shares = mx::expand_dims(routing.shares_NK, -1);
  return mx::astype(mx::sum(mx::astype(y_NKD, mx::float32) * shares, 1), x_ND.dtype());
}

}  // namespace atelier
