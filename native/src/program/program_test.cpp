#include "program/program.h"
#include "core/error.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <random>

using namespace atelier;
using namespace atelier::program;

namespace {

// Values of shared/program's reference evaluator, in f64, for every op; see conformance/golden/write.ts.
nlohmann::json golden() {
  std::ifstream file(ATELIER_SOURCE_DIR "/conformance/golden/program_ops.json");
  return nlohmann::json::parse(file);
}

double as_number(const nlohmann::json& x) {
  if (x.is_number()) {
    return x.get<double>();
  }
  auto text = x.get<std::string>();
  return text == "nan" ? std::nan("") : text == "inf" ? INFINITY : -INFINITY;
}

mx::array as_array(const nlohmann::json& x) {
  std::vector<float> values;
  for (const auto& v : x) {
    values.push_back(static_cast<float>(as_number(v)));
  }
  return mx::array(values.begin(), {static_cast<int>(values.size())}, mx::float32);
}

bool close(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= 2e-6 + 1e-5 * std::abs(b);
}

struct Case {
  explicit Case(const nlohmann::json& json)
      : program(Program::parse(json.at("program").dump())),
        layout(
            Layout::of_rows(
                json.at("targets").get<std::vector<int32_t>>(),
                json.value("trajectories", std::vector<int32_t>{}))) {
    for (const auto& [name, values] : json.at("inputs").items()) {
      inputs.emplace(name, as_array(values));
    }
    counts.sequences = layout.trajectories;
    counts.groups = json.contains("groups") ? 2 : 1;
  }

  Value value() const {
    return program.evaluate(inputs, layout, program.prepass(inputs, layout, counts));
  }

  mx::array gradient(const std::string& name) const {
    auto scalars = program.prepass(inputs, layout, counts);
    auto f = [&](const mx::array& x) {
      auto with = inputs;
      with.insert_or_assign(name, x);
      return program.evaluate(with, layout, scalars).loss;
    };
    return mx::grad(f)(inputs.at(name));
  }

  Program program;
  Layout layout;
  Arrays inputs;
  Counts counts;
};

std::string nll(const std::string& nodes = R"(
    {"op": "input", "name": "loss"}, {"op": "input", "name": "logp"}, {"op": "const", "value": 0},
    {"op": "where", "args": [0, 1, 2]}, {"op": "neg", "args": [3]}, {"op": "total", "args": [0]})") {
  return R"({"version": 1, "inputs": [
      {"name": "loss", "shape": "T", "kind": "mask", "from": "data"},
      {"name": "logp", "shape": "T", "kind": "number", "from": "engine"}],
    "nodes": [)" +
         nodes + R"(], "loss": [{"name": "nll", "value": 4, "over": 5}],
    "metrics": [{"name": "train/nll", "reduce": "mean", "value": 4, "weight": 0}]})";
}

std::string refusal(const std::string& json) {
  try {
    Program::parse(json);
  } catch (const Error& error) {
    CHECK(error.code == ErrorCode::invalid_argument);
    return error.what();
  }
  return "accepted";
}

bool contains(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every op: value, metrics and gradient as the reference evaluator") {
  for (const auto& json : golden()) {
    auto name = json.at("name").get<std::string>();
    CAPTURE(name);
    Case c(json);
    const auto& expected = json.at("expected");
    auto value = c.value();
    CHECK(close(value.loss.item<float>(), as_number(expected.at("loss"))));
    auto metrics = c.program.metrics(c.program.parts(value.parts_M2));
    CHECK(metrics.size() == expected.at("metrics").size());
    for (const auto& [key, want] : expected.at("metrics").items()) {
      CAPTURE(key);
      CAPTURE(metrics.at(key));
      CHECK(close(metrics.at(key), as_number(want)));
    }
    for (const auto& [input, want] : expected.at("gradients").items()) {
      CAPTURE(input);
      auto got = c.gradient(input);
      for (size_t i = 0; i < want.size(); i++) {
        CAPTURE(i);
        auto g = mx::slice(got, {static_cast<int>(i)}, {static_cast<int>(i) + 1}).item<float>();
        CAPTURE(g);
        CHECK(close(g, as_number(want[i])));
      }
    }
  }
}

TEST_CASE("micro-batches add up to the whole") {
  auto program = Program::parse(nll());
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<int32_t> targets = {5, 1, 3, 7, 2};
  std::vector<float> logp, mask;
  for (int i = 0; i < 18; i++) {
    logp.push_back(normal(random));
    mask.push_back(i % 3 == 1 ? 0.0f : 1.0f);
  }
  auto arrays = [&](int from, int to) {
    auto pick = [&](const std::vector<float>& v) {
      return mx::array(v.begin() + from, {to - from}, mx::float32);
    };
    return Arrays{{"loss", pick(mask)}, {"logp", pick(logp)}};
  };
  auto whole = Layout::of_rows(targets);
  auto scalars = program.prepass(arrays(0, 18), whole, {5, 1});
  auto at_once = program.evaluate(arrays(0, 18), whole, scalars);

  double loss = 0;
  Parts parts;
  int from = 0;
  for (int n : targets) {
    auto value = program.evaluate(arrays(from, from + n), Layout::of_rows({n}), scalars);
    from += n;
    loss += value.loss.item<float>();
    if (parts.empty()) {
      parts = program.parts(value.parts_M2);
    } else {
      program.merge(parts, program.parts(value.parts_M2));
    }
  }
  CHECK(loss == doctest::Approx(at_once.loss.item<float>()).epsilon(1e-6));
  CHECK(program.metrics(parts).at("train/nll") == doctest::Approx(loss).epsilon(1e-6));
}

TEST_CASE("what a trainer has to know") {
  auto program = Program::parse(nll());
  CHECK(program.engine_quantities() == std::vector<std::string>{"logp"});
  CHECK(program.prepass_quantities().empty());
  CHECK(program.differentiates("logp"));
  CHECK(program.unit() == 1);

  std::map<std::string, Program> by_name;
  for (const auto& json : golden()) {
    by_name.emplace(json.at("name"), Program::parse(json.at("program").dump()));
  }
  CHECK(by_name.at("part").unit() == 2);
  CHECK(by_name.at("sort").unit() == 0);
  CHECK(by_name.at("quantile").prepass_quantities() == std::vector<std::string>{"logp"});
  CHECK(by_name.at("stopGradient").differentiates("entropy"));
  CHECK_FALSE(by_name.at("stopGradient").differentiates("logp"));
}

TEST_CASE("nothing to learn from: the floor keeps the loss finite") {
  auto program = Program::parse(nll());
  Layout layout = Layout::of_rows({2});
  Arrays inputs{{"loss", mx::zeros({2})}, {"logp", mx::array({-1.0f, -2.0f})}};
  auto scalars = program.prepass(inputs, layout, {1, 1});
  auto metrics = program.metrics(program.parts(program.evaluate(inputs, layout, scalars).parts_M2));
  CHECK(std::isnan(metrics.at("train/nll")));
}

TEST_CASE("a program that makes no sense is refused with its place") {
  CHECK(contains(refusal("{"), "program: "));
  CHECK(contains(refusal("[]"), "program: "));
  CHECK(contains(refusal(R"({"version": 2})"), "version 2"));
  CHECK(contains(refusal(nll(R"({"op": "system"})")), "node 0: op 'system' does not exist"));
  CHECK(
      contains(refusal(nll(R"({"op": "neg", "args": [0]})")), "argument 0 is not an earlier node"));
  CHECK(contains(
      refusal(nll(R"({"op": "neg", "args": [-1]})")), "argument -1 is not an earlier node"));
  CHECK(contains(
      refusal(nll(R"({"op": "input", "name": "loss"}, {"op": "exp", "args": [0]})")),
      "exp: argument 1 must be a number, is a mask [T]"));
  CHECK(contains(
      refusal(nll(R"({"op": "input", "name": "loss"}, {"op": "part", "args": [0], "n": 2})")),
      "part wants [S], is a mask [T]"));
  CHECK(contains(refusal(nll(R"({"op": "input", "name": "loss"})")), "node 4 does not exist"));
  CHECK(
      contains(refusal(nll(R"({"op": "input", "name": "nothing"})")), "'nothing' is not declared"));
}

TEST_CASE("inputs that do not fit are named") {
  auto program = Program::parse(nll());
  auto layout = Layout::of_rows({2});
  auto complaint = [&](const Arrays& inputs, bool with_engine) -> std::string {
    try {
      program.check_inputs(inputs, layout, with_engine);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  auto two = mx::zeros({2});
  CHECK(complaint({{"loss", two}}, false) == "accepted");
  CHECK(contains(complaint({{"loss", two}}, true), "inputs.logp: missing"));
  CHECK(contains(complaint({{"loss", mx::zeros({3})}}, false), "has 3 entries, needs 2"));
  CHECK(contains(complaint({{"loss", two}, {"lgop", two}}, false), "inputs.lgop"));
  CHECK_THROWS_AS(Layout::of_rows({1, 1}, {0, 2}), Error);
}
