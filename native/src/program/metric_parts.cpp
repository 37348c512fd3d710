#include "program/metric_parts.h"

#include "program/program.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace atelier::program {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

}  // namespace

std::vector<float> host(const mx::array& x) {
  auto flat = mx::contiguous(mx::astype(x, mx::float32));
  flat.eval();
  return std::vector<float>(flat.data<float>(), flat.data<float>() + flat.size());
}

mx::array metric_part(const Metric& metric, const mx::array& value, const mx::array* weight) {
  auto pair = [](const mx::array& a, const mx::array& b) { return mx::stack({a, b}); };
  auto x = mx::stop_gradient(value);
  if (metric.reduce == Metric::scalar) {
    return pair(mx::astype(mx::reshape(x, {}), mx::float32), mx::array(1.0f));
  }
  auto w = weight ? mx::stop_gradient(mx::astype(*weight, mx::float32)) : mx::ones_like(x);
  auto counts = mx::not_equal(w, mx::array(0.0f));
  auto weights = mx::sum(w);
  if (metric.reduce == Metric::mean || metric.reduce == Metric::sum) {
    return pair(mx::sum(mx::where(counts, mx::multiply(x, w), mx::array(0.0f))), weights);
  }
  bool least = metric.reduce == Metric::min;
  auto none = mx::array(least ? infinity : -infinity);
  if (x.size() == 0) {
    return pair(none, mx::array(0.0f));
  }
  auto candidates = mx::where(counts, x, none);
  return pair(least ? mx::min(candidates) : mx::max(candidates), weights);
}

Parts Program::parts(const mx::array& parts_M2) const {
  auto flat = parts_M2.size() == 0 ? std::vector<float>{} : host(parts_M2);
  Parts parts;
  for (size_t i = 0; i + 1 < flat.size(); i += 2) {
    parts.emplace_back(flat[i], flat[i + 1]);
  }
  return parts;
}

void Program::merge(Parts& into, const Parts& more) const {
  for (size_t i = 0; i < metrics_.size(); i++) {
    auto& [value, weight] = into[i];
    switch (metrics_[i].reduce) {
      case Metric::mean:
      case Metric::sum:
        value += more[i].first;
        weight += more[i].second;
        break;
      case Metric::min:
        value = std::min(value, more[i].first);
        weight += more[i].second;
        break;
      case Metric::max:
        value = std::max(value, more[i].first);
        weight += more[i].second;
        break;
      case Metric::scalar:
        break;  // the same number in every micro-batch
    }
  }
}

std::map<std::string, double> Program::metrics(const Parts& parts) const {
  std::map<std::string, double> result;
  for (size_t i = 0; i < metrics_.size(); i++) {
    auto [value, weight] = parts[i];
    bool sums = metrics_[i].reduce == Metric::sum || metrics_[i].reduce == Metric::scalar;
    double mean = metrics_[i].reduce == Metric::mean ? value / weight : value;
    result[metrics_[i].name] = !sums && weight == 0 ? std::nan("") : mean;
  }
  return result;
}

}  // namespace atelier::program
