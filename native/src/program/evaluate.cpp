#include "core/error.h"
#include "program/metric_parts.h"
#include "program/ops.h"
#include "program/program.h"
#include "program/signatures.h"

#include <algorithm>
#include <cmath>

namespace atelier::program {
namespace {

mx::array typed(const mx::array& x, bool mask) {
  if (!mask) {
    return mx::astype(x, mx::float32);
  }
  return x.dtype() == mx::bool_ ? x : mx::not_equal(x, mx::array(0, x.dtype()));
}

// Ascending entries in the mask, NaN last.
std::vector<float> chosen(const mx::array& x, const mx::array& mask) {
  auto values = host(x);
  auto in_mask = host(mask);
  std::vector<float> result;
  for (size_t i = 0; i < values.size(); i++) {
    if (in_mask[i] != 0) {
      result.push_back(values[i]);
    }
  }
  std::sort(result.begin(), result.end(), [](float a, float b) {
    return a < b || (std::isnan(b) && !std::isnan(a));
  });
  return result;
}

double total(const mx::array& x) {
  double sum = 0;
  for (float v : host(x)) {
    sum += v;
  }
  return sum;
}

// Linear between two entries, as torch.quantile.
double quantile(const std::vector<float>& sorted, double q) {
  if (sorted.empty()) {
    return std::nan("");
  }
  double place = (static_cast<double>(sorted.size()) - 1) * std::min(1.0, std::max(0.0, q));
  double low = sorted[static_cast<size_t>(std::floor(place))];
  double high = sorted[static_cast<size_t>(std::ceil(place))];
  return low + (high - low) * (place - std::floor(place));
}

double kth_largest(const std::vector<float>& sorted, double k) {
  if (sorted.empty()) {
    return std::nan("");
  }
  auto n = static_cast<double>(sorted.size());
  return sorted[static_cast<size_t>(n - std::min(n, std::max(1.0, std::floor(k))))];
}

double whole_step(const Node& node, const std::vector<mx::array>& args) {
  if (node.op == "total") {
    return total(args[0]);
  }
  double parameter = host(args[2])[0];
  auto sorted = chosen(args[0], args[1]);
  return node.op == "quantile" ? quantile(sorted, parameter) : kth_largest(sorted, parameter);
}

}  // namespace

std::vector<std::optional<mx::array>> Program::run(
    const Arrays& inputs,
    const Segments& segments,
    const std::vector<bool>& needed,
    const std::function<double(size_t, const std::vector<mx::array>&)>& scalar) const {
  std::vector<std::optional<mx::array>> values(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); i++) {
    const auto& node = nodes_[i];
    if (!needed[i]) {
      continue;
    }
    std::vector<mx::array> args;
    for (int arg : node.args) {
      if (values[arg]) {
        args.push_back(*values[arg]);
      }
    }
    if (node.shape == Shape{}) {
      values[i] = typed(mx::array(static_cast<float>(scalar(i, args))), node.mask);
    } else if (node.op == "input") {
      values[i] = typed(inputs.at(node.name), node.mask);
    } else {
      values[i] = apply(node, args, segments);
      // A vector made of scalars alone does not exist: every vector op has a vector argument.
    }
  }
  return values;
}

std::vector<double>
Program::prepass(const Arrays& inputs, const Layout& layout, const Counts& counts) const {
  std::vector<int> roots;
  for (size_t i = 0; i < nodes_.size(); i++) {
    if (nodes_[i].shape == Shape{}) {
      roots.push_back(static_cast<int>(i));
    }
  }
  Segments segments(layout);
  std::vector<double> scalars(nodes_.size(), 0);
  run(inputs, segments, reached_from(roots), [&](size_t i, const std::vector<mx::array>& args) {
    const auto& node = nodes_[i];
    if (node.op == "input") {
      scalars[i] = host(inputs.at(node.name))[0];
    } else if (node.op == "sequences") {
      scalars[i] = counts.sequences;
    } else if (node.op == "groups") {
      scalars[i] = counts.groups;
    } else if (is_whole_step(node)) {
      scalars[i] = whole_step(node, args);
    } else {
      scalars[i] = host(apply(node, args, segments))[0];
    }
    return scalars[i];
  });
  return scalars;
}

Value Program::evaluate(
    const Arrays& inputs,
    const Layout& layout,
    const std::vector<double>& scalars) const {
  // Whole-step numbers are known: what only they need is not evaluated again.
  std::vector<bool> needed(nodes_.size(), false);
  auto need = [&](int node) {
    if (node >= 0) {
      needed[node] = true;
    }
  };
  for (const auto& term : loss_) {
    need(term.value);
    need(term.over);
  }
  for (const auto& metric : metrics_) {
    need(metric.value);
    need(metric.weight);
  }
  for (size_t i = nodes_.size(); i-- > 0;) {
    if (needed[i] && nodes_[i].shape != Shape{}) {
      for (int arg : nodes_[i].args) {
        need(arg);
      }
    }
  }
  Segments segments(layout);
  auto values = run(inputs, segments, needed, [&](size_t i, const std::vector<mx::array>&) {
    return scalars[i];
  });

  mx::array loss(0.0f);
  for (const auto& term : loss_) {
    auto sum = mx::sum(*values[term.value]);
    loss = mx::add(loss, mx::divide(sum, mx::array(static_cast<float>(scalars[term.over]))));
  }
  std::vector<mx::array> parts;
  for (const auto& metric : metrics_) {
    auto* weight = metric.weight >= 0 ? &*values[metric.weight] : nullptr;
    parts.push_back(metric_part(metric, *values[metric.value], weight));
  }
  return {loss, parts.empty() ? mx::zeros({0, 2}) : mx::stack(parts)};
}

}  // namespace atelier::program
