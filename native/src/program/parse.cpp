#include "core/error.h"
#include "program/program.h"
#include "program/signatures.h"

#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

namespace atelier::program {
namespace {

using Json = nlohmann::json;

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorCode::invalid_argument, "program: " + message);
}

Shape parse_shape(const std::string& name) {
  if (name == "scalar") {
    return {};
  }
  if (name == "T") {
    return {Shape::targets, 1};
  }
  if (name == "S") {
    return {Shape::trajectories, 1};
  }
  if (name.size() == 3 && name.rfind("S/", 0) == 0 && name[2] >= '2' && name[2] <= '9') {
    return {Shape::trajectories, name[2] - '0'};
  }
  fail("shape '" + name + "' is none of T, S, S/n, scalar");
}

Source parse_source(const std::string& name) {
  if (name == "engine") {
    return Source::engine;
  }
  if (name == "data") {
    return Source::data;
  }
  if (name == "param") {
    return Source::param;
  }
  fail("source '" + name + "' is none of engine, data, param");
}

Input parse_input(const Json& json) {
  Input input;
  input.name = json.at("name");
  input.shape = parse_shape(json.at("shape").get<std::string>()).name();
  auto kind = json.at("kind").get<std::string>();
  if (kind != "number" && kind != "mask") {
    fail("input '" + input.name + "': kind '" + kind + "' is neither number nor mask");
  }
  input.mask = kind == "mask";
  input.from = parse_source(json.at("from"));
  input.options = json.value("options", std::map<std::string, double>{});
  return input;
}

// shared/program, ENGINE_QUANTITIES: numbers to weigh with or to look at.
bool has_gradient(const std::string& quantity) {
  return quantity != "logSumSqProbs" && quantity != "meanLogit" && quantity != "correct";
}

Node parse_node(const Json& json) {
  Node node;
  node.op = json.at("op");
  node.args = json.value("args", std::vector<int>{});
  node.name = json.value("name", "");
  node.value = json.value("value", 0.0);
  node.k = json.value("k", 0);
  node.n = json.value("n", 0);
  return node;
}

Metric::Reduce parse_reduce(const std::string& name) {
  static const std::map<std::string, Metric::Reduce> table = {
      {"mean", Metric::mean},
      {"sum", Metric::sum},
      {"min", Metric::min},
      {"max", Metric::max},
      {"value", Metric::scalar}};
  auto found = table.find(name);
  if (found == table.end()) {
    fail("reduce '" + name + "' is none of mean, sum, min, max, value");
  }
  return found->second;
}

const Node& at(const std::vector<Node>& nodes, int index, const std::string& where) {
  if (index < 0 || index >= static_cast<int>(nodes.size())) {
    fail(where + ": node " + std::to_string(index) + " does not exist");
  }
  return nodes[index];
}

void check_term(const Term& term, const std::vector<Node>& nodes) {
  auto where = "loss term '" + term.name + "'";
  const auto& value = at(nodes, term.value, where);
  if (value.mask || value.shape == Shape{}) {
    fail(where + ": must be a number [T], [S] or [S/n]");
  }
  const auto& over = at(nodes, term.over, where);
  if (over.mask || over.shape != Shape{}) {
    fail(where + ": must be divided by a scalar number");
  }
}

void check_metric(const Metric& metric, const std::vector<Node>& nodes) {
  auto where = "metric '" + metric.name + "'";
  const auto& value = at(nodes, metric.value, where);
  if ((metric.reduce == Metric::scalar) != (value.shape == Shape{})) {
    fail(where + ": a scalar goes with 'value', a vector with the others");
  }
  if (metric.weight >= 0 &&
      (metric.reduce == Metric::scalar || at(nodes, metric.weight, where).shape != value.shape)) {
    fail(where + ": its weight has another shape");
  }
}

}  // namespace

Program Program::parse(std::string_view text) {
  Program program;
  try {
    auto json = Json::parse(text);
    if (json.at("version") != 1) {
      fail("version " + json.at("version").dump() + ": this engine reads version 1");
    }
    std::map<std::string, size_t> inputs;
    for (const auto& item : json.at("inputs")) {
      auto input = parse_input(item);
      if (!inputs.emplace(input.name, program.inputs_.size()).second) {
        fail("input '" + input.name + "' is declared twice");
      }
      auto shape = parse_shape(input.shape);
      if (shape.of == Shape::trajectories) {
        program.unit_ = std::lcm(program.unit_, shape.n);
      }
      program.inputs_.push_back(std::move(input));
    }
    bool whole = false;
    for (const auto& item : json.at("nodes")) {
      auto node = parse_node(item);
      if (node.op == "input") {
        auto found = inputs.find(node.name);
        if (found == inputs.end()) {
          fail("input '" + node.name + "' is not declared");
        }
        const auto& input = program.inputs_[found->second];
        node.shape = parse_shape(input.shape);
        node.mask = input.mask;
        node.differentiable =
            !input.mask && input.from == Source::engine && has_gradient(input.name);
      } else {
        try {
          infer(node, program.nodes_);
        } catch (const Error& error) {
          fail("node " + std::to_string(program.nodes_.size()) + ": " + error.what());
        }
      }
      if (node.shape.of == Shape::trajectories) {
        program.unit_ = std::lcm(program.unit_, node.shape.n);
      }
      whole |= node.op == "sort";
      program.nodes_.push_back(std::move(node));
    }
    for (const auto& item : json.at("loss")) {
      program.loss_.push_back({item.at("name"), item.at("value"), item.at("over")});
      check_term(program.loss_.back(), program.nodes_);
    }
    if (program.loss_.empty()) {
      fail("has no loss term");
    }
    for (const auto& item : json.at("metrics")) {
      Metric metric{
          parse_reduce(item.at("reduce")),
          item.at("name"),
          item.at("value"),
          item.value("weight", -1)};
      check_metric(metric, program.nodes_);
      program.metrics_.push_back(std::move(metric));
    }
    if (whole) {
      program.unit_ = 0;
    }
  } catch (const Json::exception& error) {
    fail(error.what());
  }
  return program;
}

std::vector<std::string> Program::engine_quantities() const {
  std::vector<std::string> names;
  for (const auto& input : inputs_) {
    if (input.from == Source::engine) {
      names.push_back(input.name);
    }
  }
  return names;
}

std::vector<bool> Program::reached_from(const std::vector<int>& roots) const {
  std::vector<bool> reached(nodes_.size(), false);
  for (int root : roots) {
    reached[root] = true;
  }
  for (int i = static_cast<int>(nodes_.size()) - 1; i >= 0; i--) {
    if (reached[i]) {
      for (int arg : nodes_[i].args) {
        reached[arg] = true;
      }
    }
  }
  return reached;
}

std::vector<std::string> Program::prepass_quantities() const {
  std::vector<int> roots;
  for (size_t i = 0; i < nodes_.size(); i++) {
    if (nodes_[i].shape == Shape{}) {
      roots.push_back(static_cast<int>(i));
    }
  }
  auto reached = reached_from(roots);
  std::set<std::string> named;
  for (size_t i = 0; i < nodes_.size(); i++) {
    if (reached[i] && nodes_[i].op == "input") {
      named.insert(nodes_[i].name);
    }
  }
  std::vector<std::string> names;
  for (const auto& name : engine_quantities()) {
    if (named.count(name)) {
      names.push_back(name);
    }
  }
  return names;
}

bool Program::differentiates(const std::string& name) const {
  std::vector<bool> reached(nodes_.size(), false);
  for (size_t i = 0; i < nodes_.size(); i++) {
    const auto& node = nodes_[i];
    if (node.op == "input") {
      reached[i] = node.name == name && node.differentiable;
      continue;
    }
    if (node.differentiable) {
      for (int arg : node.args) {
        reached[i] = reached[i] || reached[arg];
      }
    }
  }
  for (const auto& term : loss_) {
    if (reached[term.value]) {
      return true;
    }
  }
  return false;
}

}  // namespace atelier::program
