#include "program/ops.h"

#include "core/error.h"
#include "program/program.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

namespace atelier::program {
namespace {

using Args = std::vector<mx::array>;
using Op = std::function<mx::array(const Node&, const Args&, const Segments&)>;

mx::array number(float x) {
  return mx::array(x);
}

// Where equal, each side gets half of the gradient, as torch.minimum.
mx::array smaller(const mx::array& a, const mx::array& b) {
  auto middle = mx::multiply(number(0.5f), mx::add(a, b));
  return mx::where(mx::less(a, b), a, mx::where(mx::less(b, a), b, middle));
}

mx::array larger(const mx::array& a, const mx::array& b) {
  auto middle = mx::multiply(number(0.5f), mx::add(a, b));
  return mx::where(mx::greater(a, b), a, mx::where(mx::greater(b, a), b, middle));
}

// The gradient passes inside, bounds included, as torch.clamp.
mx::array clip(const mx::array& x, const mx::array& low, const mx::array& high) {
  return mx::where(mx::less(x, low), low, mx::where(mx::greater(x, high), high, x));
}

// log(1 - exp(x)), x < 0 (Mächler, "Accurately computing log(1 - exp(-|a|))", 2012). Each branch sees only
// arguments where it is smooth: the gradient of the branch not taken would be inf * 0.
mx::array log1mexp(const mx::array& x) {
  auto turn = number(-static_cast<float>(M_LN2));
  auto near = mx::greater(x, turn);
  auto near_x = mx::where(near, x, turn);
  auto far_x = mx::where(near, turn, x);
  return mx::where(
      near, mx::log(mx::negative(mx::expm1(near_x))), mx::log1p(mx::negative(mx::exp(far_x))));
}

mx::array seg_sum(const mx::array& x_T, const Segments& segments) {
  auto zeros = mx::zeros({segments.trajectories}, mx::float32);
  if (segments.targets == 0) {
    return zeros;
  }
  return mx::scatter_add(zeros, segments.trajectory_T, mx::reshape(x_T, {segments.targets, 1}), 0);
}

mx::array seg_mean(const mx::array& x_T, const mx::array& mask_T, const Segments& segments) {
  auto sum = seg_sum(mx::where(mask_T, x_T, number(0)), segments);
  auto count = seg_sum(mx::astype(mask_T, mx::float32), segments);
  return mx::divide(sum, mx::maximum(count, number(1)));
}

mx::array seg_last(const mx::array& x_T, const mx::array& mask_T, const Segments& segments) {
  auto zeros = mx::zeros({segments.trajectories}, mx::float32);
  if (segments.targets == 0) {
    return zeros;
  }
  auto none = mx::full({segments.trajectories}, -1, mx::int32);
  auto place = mx::where(mask_T, mx::arange(segments.targets, mx::int32), mx::array(-1));
  auto last =
      mx::scatter_max(none, segments.trajectory_T, mx::reshape(place, {segments.targets, 1}), 0);
  auto taken = mx::take(x_T, mx::maximum(last, mx::array(0)), 0);
  return mx::where(mx::greater_equal(last, mx::array(0)), taken, zeros);
}

// Tokens of a trajectory are brought together first: its rows may lie apart.
mx::array position(const mx::array& mask_T, const Segments& segments) {
  int n = segments.targets;
  if (n == 0) {
    return mx::zeros({0}, mx::float32);
  }
  const auto& trajectory = segments.layout.trajectory_T;
  std::vector<int32_t> order(n), back(n), first(segments.trajectories, 0);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(
      order.begin(), order.end(), [&](int a, int b) { return trajectory[a] < trajectory[b]; });
  for (int i = n - 1; i >= 0; i--) {
    back[order[i]] = i;
    first[trajectory[order[i]]] = i;
  }
  std::vector<int32_t> start(n);
  for (int t = 0; t < n; t++) {
    start[t] = first[trajectory[t]];
  }
  auto index = [n](const std::vector<int32_t>& v) { return mx::array(v.begin(), {n}, mx::int32); };
  auto sorted = mx::take(mx::astype(mask_T, mx::float32), index(order), 0);
  auto before = mx::cumsum(sorted, 0, false, false);
  return mx::subtract(mx::take(before, index(back), 0), mx::take(before, index(start), 0));
}

Op unary(mx::array (*f)(const mx::array&)) {
  return [f](const Node&, const Args& a, const Segments&) { return f(a[0]); };
}

Op binary(mx::array (*f)(const mx::array&, const mx::array&)) {
  return [f](const Node&, const Args& a, const Segments&) { return f(a[0], a[1]); };
}

const std::map<std::string, Op>& ops() {
  static const std::map<std::string, Op> table = {
      {"const",
       [](const Node& node, const Args&, const Segments&) {
         return number(static_cast<float>(node.value));
       }},
      {"neg", unary([](const mx::array& x) { return mx::negative(x); })},
      {"abs", unary([](const mx::array& x) { return mx::abs(x); })},
      {"square", unary([](const mx::array& x) { return mx::square(x); })},
      {"sqrt", unary([](const mx::array& x) { return mx::sqrt(x); })},
      {"exp", unary([](const mx::array& x) { return mx::exp(x); })},
      {"log", unary([](const mx::array& x) { return mx::log(x); })},
      {"log1mexp", unary(log1mexp)},
      {"sigmoid", unary([](const mx::array& x) { return mx::sigmoid(x); })},
      {"logSigmoid", unary([](const mx::array& x) {
         return mx::negative(mx::logaddexp(mx::negative(x), mx::zeros_like(x)));
       })},
      {"relu", unary([](const mx::array& x) {
         return mx::where(mx::greater(x, number(0)), x, number(0));
       })},
      {"stopGradient", unary([](const mx::array& x) { return mx::stop_gradient(x); })},
      {"add", binary([](const mx::array& a, const mx::array& b) { return mx::add(a, b); })},
      {"sub", binary([](const mx::array& a, const mx::array& b) { return mx::subtract(a, b); })},
      {"mul", binary([](const mx::array& a, const mx::array& b) { return mx::multiply(a, b); })},
      {"div", binary([](const mx::array& a, const mx::array& b) { return mx::divide(a, b); })},
      {"min", binary(smaller)},
      {"max", binary(larger)},
      {"clip", [](const Node&, const Args& a, const Segments&) { return clip(a[0], a[1], a[2]); }},
      {"lt", binary([](const mx::array& a, const mx::array& b) { return mx::less(a, b); })},
      {"le", binary([](const mx::array& a, const mx::array& b) { return mx::less_equal(a, b); })},
      {"gt", binary([](const mx::array& a, const mx::array& b) { return mx::greater(a, b); })},
      {"ge",
       binary([](const mx::array& a, const mx::array& b) { return mx::greater_equal(a, b); })},
      {"eq", binary([](const mx::array& a, const mx::array& b) { return mx::equal(a, b); })},
      {"and", binary([](const mx::array& a, const mx::array& b) { return mx::logical_and(a, b); })},
      {"or", binary([](const mx::array& a, const mx::array& b) { return mx::logical_or(a, b); })},
      {"not", unary([](const mx::array& x) { return mx::logical_not(x); })},
      {"number", unary([](const mx::array& x) { return mx::astype(x, mx::float32); })},
      {"where",
       [](const Node&, const Args& a, const Segments&) { return mx::where(a[0], a[1], a[2]); }},
      {"segSum",
       [](const Node&, const Args& a, const Segments& segments) {
         return seg_sum(a[0], segments);
       }},
      {"segMean",
       [](const Node&, const Args& a, const Segments& segments) {
         return seg_mean(a[0], a[1], segments);
       }},
      {"segLast",
       [](const Node&, const Args& a, const Segments& segments) {
         return seg_last(a[0], a[1], segments);
       }},
      {"position",
       [](const Node&, const Args& a, const Segments& segments) {
         return position(a[0], segments);
       }},
      {"spread",
       [](const Node&, const Args& a, const Segments& segments) {
         return mx::take(a[0], segments.trajectory_T, 0);
       }},
      {"part",
       [](const Node& node, const Args& a, const Segments& segments) {
         return mx::slice(a[0], {node.k}, {segments.trajectories}, {node.n});
       }},
      {"unpart",
       [](const Node& node, const Args& a, const Segments&) {
         return mx::repeat(a[0], node.n, 0);
       }},
      {"sort", unary([](const mx::array& x) {
         return mx::take(x, mx::stop_gradient(mx::argsort(x, 0)), 0);
       })},
  };
  return table;
}

}  // namespace

Segments::Segments(const Layout& layout)
    : layout(layout),
      trajectory_T(
          layout.on_device ? *layout.on_device
                           : mx::array(
                                 layout.trajectory_T.begin(),
                                 {static_cast<int>(layout.trajectory_T.size())},
                                 mx::int32)),
      targets(static_cast<int>(layout.trajectory_T.size())),
      trajectories(layout.trajectories) {}

mx::array apply(const Node& node, const Args& args, const Segments& segments) {
  return ops().at(node.op)(node, args, segments);
}

}  // namespace atelier::program
