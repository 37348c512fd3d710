// Shapes: C targets of one chunk, V vocabulary, K chosen tokens.
#include "train/divergence.h"

#include <cmath>

namespace atelier {
namespace {

mx::array log_softmax(const mx::array& logits, float temperature) {
  auto z = temperature == 1.0f ? logits : logits * mx::array(1.0f / temperature);
  return z - mx::logsumexp(z, -1, true);
}

// The divergence [C] of two distributions given by their logarithms, and p times its gradient by p, but for a constant
// in that gradient (which none through a softmax sees). The product stays finite where p is nothing.
struct Divergence {
  mx::array value_C, p_by_p;
};

Divergence divergence(const mx::array& s, const mx::array& t, float beta) {
  auto p = mx::exp(s), q = mx::exp(t);
  if (beta == 0) {
    return {mx::sum(q * (t - s), -1), -q};
  }
  if (beta == 1) {
    return {mx::sum(p * (s - t), -1), p * (s - t)};
  }
  auto ours = mx::array(1 - beta), theirs = mx::array(beta);
  auto m = mx::logaddexp(s + mx::log(ours), t + mx::log(theirs));
  auto value = theirs * mx::sum(q * (t - m), -1) + ours * mx::sum(p * (s - m), -1);
  return {value, ours * p * (s - m)};
}

// To a gradient by the logits of p = softmax(logits / temperature).
mx::array through_softmax(const mx::array& s, const mx::array& p_by_p, float temperature) {
  auto by_z = p_by_p - mx::exp(s) * mx::sum(p_by_p, -1, true);
  return by_z * mx::array(1.0f / temperature);
}

// log of what is left of a distribution beside the chosen tokens; as the source bounds it.
mx::array log_tail(const mx::array& chosen_CK) {
  auto mass = mx::minimum(mx::logsumexp(chosen_CK, -1, true), mx::array(-1e-7f));
  return mx::log(-mx::expm1(mass));
}

}  // namespace

TokenValue
jsd(const mx::array& student_CV, const mx::array& teacher_CV, float beta, float temperature) {
  auto s = log_softmax(student_CV, temperature), t = log_softmax(teacher_CV, temperature);
  auto d = divergence(s, t, beta);
  return {d.value_C, through_softmax(s, d.p_by_p, temperature)};
}

TokenValue
topk_divergence(const mx::array& student_CV, const mx::array& teacher_CV, const TopkOptions& o) {
  int vocabulary = student_CV.shape(-1);
  if (o.k >= vocabulary) {
    return jsd(student_CV, teacher_CV, o.alpha, o.temperature);
  }
  auto order = mx::argpartition(-student_CV, o.k - 1, -1);
  auto chosen_CK = mx::slice(order, {0, 0}, {order.shape(0), o.k});
  auto s = log_softmax(student_CV, o.temperature), t = log_softmax(teacher_CV, o.temperature);
  auto s_CK = mx::take_along_axis(s, chosen_CK, -1);
  auto t_CK = mx::take_along_axis(t, chosen_CK, -1);
  if (!o.tail) {
    auto ours = log_softmax(s_CK, 1), theirs = log_softmax(t_CK, 1);
    auto d = divergence(ours, theirs, o.alpha);
    auto by_chosen = through_softmax(ours, d.p_by_p, o.temperature);
    return {d.value_C, mx::put_along_axis(mx::zeros_like(s), chosen_CK, by_chosen, -1)};
  }
  auto tail_C1 = log_tail(s_CK);
  auto d = divergence(
      mx::concatenate({s_CK, tail_C1}, -1), mx::concatenate({t_CK, log_tail(t_CK)}, -1), o.alpha);
  auto by_chosen = mx::slice(d.p_by_p, {0, 0}, {d.p_by_p.shape(0), o.k});
  // Each token of the tail has its share of it.
  auto by_tail = mx::slice(d.p_by_p, {0, o.k}, d.p_by_p.shape());
  auto by_rest = mx::exp(s - tail_C1) * by_tail;
  auto p_by_p = mx::put_along_axis(by_rest, chosen_CK, by_chosen, -1);
  return {d.value_C, through_softmax(s, p_by_p, o.temperature)};
}

}  // namespace atelier
