#include "core/error.h"
#include "program/ops.h"
#include "program/program.h"
#include "program/signatures.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace atelier::program {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

int entries(const Shape& shape, int targets, int trajectories) {
  switch (shape.of) {
    case Shape::scalar:
      return 1;
    case Shape::targets:
      return targets;
    default:
      return trajectories / shape.n;
  }
}

mx::array typed(const mx::array& x, bool mask) {
  if (!mask) {
    return mx::astype(x, mx::float32);
  }
  return x.dtype() == mx::bool_ ? x : mx::not_equal(x, mx::array(0, x.dtype()));
}

std::vector<float> host(const mx::array& x) {
  auto flat = mx::contiguous(mx::astype(x, mx::float32));
  flat.eval();
  return std::vector<float>(flat.data<float>(), flat.data<float>() + flat.size());
}

// Ascending entries in the mask.
std::vector<float> chosen(const mx::array& x, const mx::array& mask) {
  auto values = host(x);
  auto in_mask = host(mask);
  std::vector<float> result;
  for (size_t i = 0; i < values.size(); i++) {
    if (in_mask[i] != 0) {
      result.push_back(values[i]);
    }
  }
  std::sort(result.begin(), result.end());
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
  double place = (static_cast<double>(sorted.size()) - 1) * q;
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

// [2]: what metrics add up or compare.
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

} // namespace

void Program::check_inputs(const Arrays& inputs, const Layout& layout, bool with_engine) const {
  if (unit_ > 1 && layout.trajectories % unit_ != 0) {
    throw Error(
        ErrorCode::invalid_argument,
        std::to_string(layout.trajectories) + " trajectories do not divide into groups of " +
            std::to_string(unit_) + ", which the program needs");
  }
  auto targets = static_cast<int>(layout.trajectory_T.size());
  size_t known = 0;
  for (const auto& input : inputs_) {
    auto found = inputs.find(input.name);
    if (found == inputs.end()) {
      if (input.from == Source::engine && !with_engine) {
        continue;
      }
      throw Error(ErrorCode::invalid_argument, "inputs." + input.name + ": missing");
    }
    known++;
    Shape shape;
    for (const auto& node : nodes_) {
      if (node.op == "input" && node.name == input.name) {
        shape = node.shape;
      }
    }
    if (shape.name() != input.shape) {
      continue; // declared and never used
    }
    auto wanted = static_cast<size_t>(entries(shape, targets, layout.trajectories));
    if (found->second.size() != wanted) {
      throw Error(
          ErrorCode::invalid_argument,
          "inputs." + input.name + " [" + input.shape + "]: has " +
              std::to_string(found->second.size()) + " entries, needs " + std::to_string(wanted));
    }
  }
  if (known != inputs.size()) {
    for (const auto& [name, value] : inputs) {
      auto is = [&](const Input& input) { return input.name == name; };
      if (std::none_of(inputs_.begin(), inputs_.end(), is)) {
        throw Error(ErrorCode::invalid_argument, "inputs." + name + ": the program has no such input");
      }
    }
  }
}

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

std::vector<double> Program::prepass(
    const Arrays& inputs,
    const Layout& layout,
    const Counts& counts) const {
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
  auto values =
      run(inputs, segments, needed, [&](size_t i, const std::vector<mx::array>&) { return scalars[i]; });

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
        break; // the same number in every micro-batch
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

} // namespace atelier::program
