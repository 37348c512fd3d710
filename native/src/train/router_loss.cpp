#include "train/router_loss.h"

namespace atelier {

mx::array
expert_counts(const std::vector<mx::array>& router_logits, const mx::array& at_N, int chosen) {
  const int E = router_logits.at(0).shape(1), N = at_N.shape(0);
  mx::array counts = mx::zeros({E}, mx::float32);
  for (const mx::array& logits : router_logits) {
    const mx::array order =
        mx::argpartition(mx::negative(mx::take(logits, at_N, 0)), chosen - 1, -1);
    const mx::array experts_NK = mx::slice(order, {0, 0}, {N, chosen});
    const mx::array ones = mx::ones({N, chosen}, mx::float32);
    counts = counts +
             mx::sum(mx::put_along_axis(mx::zeros({N, E}, mx::float32), experts_NK, ones, -1), 0);
  }
  return counts;
}

mx::array router_loss(
    const std::vector<mx::array>& router_logits,
    const mx::array& at_N,
    const ExpertUse& use) {
  const int E = use.share_E.shape(0);
  mx::array sum = mx::zeros({at_N.shape(0)}, mx::float32);
  for (const mx::array& logits : router_logits) {
    sum = sum + mx::sum(mx::softmax(mx::take(logits, at_N, 0), -1, true) * use.share_E, -1);
  }
  const double places = use.tokens * static_cast<double>(router_logits.size());
  return sum * mx::array(static_cast<float>(E / places));
}

}  // namespace atelier
