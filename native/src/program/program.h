// The loss language of shared/program on MLX arrays.
//
// Shape letters: T targets (prompt targets included, no padding), S trajectories, M metrics.
//
// How a step uses it:
//   1. Program::parse(json).
//   2. prepass() once over all rows of the optimiser step: the numbers that hold for the whole step (token
//      counts, baselines, quantiles). It needs engine quantities only where prepass_quantities() names some.
//   3. evaluate() for each micro-batch, inside mx::value_and_grad: losses of micro-batches add up exactly, and
//      so do metric parts through merge(). A micro-batch is whole trajectories, unit() consecutive ones kept
//      together; where unit() is 0 the step cannot be split.
#pragma once

#include "core/mlx.h"
#include "program/node.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atelier::program {

// Inputs by name. Numbers f32; masks any type, true where not 0.
using Arrays = std::map<std::string, mx::array>;

enum class Source { engine, data, param };

struct Segments;

struct Input {
  std::string name;
  std::string shape;  // "T", "S", "scalar" or "S/n"
  bool mask = false;
  Source from = Source::data;
  std::map<std::string, double> options = {};  // of an engine quantity
};

// Which trajectory each target belongs to, counted from 0 within the rows at hand. All of a trajectory's
// targets are there; they need not be adjacent.
struct Layout {
  std::vector<int32_t> trajectory_T;
  int trajectories = 0;
  // [T] i32, the same; absent: made where it is needed.
  std::optional<mx::array> on_device = std::nullopt;

  // Rows of the given numbers of targets; an empty `trajectories` makes each row its own.
  static Layout of_rows(
      const std::vector<int32_t>& targets,
      const std::vector<int32_t>& trajectories = {});
};

// Counts over the whole optimiser step, on all devices.
struct Counts {
  double sequences = 0;
  double groups = 0;
};

// A loss that can be differentiated, and what metrics are made of.
struct Value {
  mx::array loss;      // scalar f32
  mx::array parts_M2;  // [M, 2] f32, not differentiable
};

// Metric parts in f64, as they add up over micro-batches.
using Parts = std::vector<std::pair<double, double>>;

class Program {
 public:
  // Throws Error (invalid_argument) that names the node, input, term or metric that is wrong.
  static Program parse(std::string_view json);

  const std::vector<Input>& inputs() const {
    return inputs_;
  }

  // Names of inputs that the engine has to make from a forward pass, in the order of inputs().
  std::vector<std::string> engine_quantities() const;
  // Those of them that the whole-step numbers need, before any gradient.
  std::vector<std::string> prepass_quantities() const;
  // Whether the loss has a gradient by this input.
  bool differentiates(const std::string& name) const;
  // Consecutive trajectories that have to stay in one micro-batch: 1, n, or 0 for all of them.
  int unit() const {
    return unit_;
  }

  // Throws invalid_argument where an input is missing, unknown or has another number of entries than its shape
  // in this layout. Inputs of the engine are checked only where `with_engine`.
  void check_inputs(const Arrays& inputs, const Layout& layout, bool with_engine) const;

  // One f64 a node; only those of scalars are meant. Evaluates what it needs.
  std::vector<double> prepass(const Arrays& inputs, const Layout& layout, const Counts& counts)
      const;

  // Lazy. `scalars` is prepass()'s result over the whole step.
  Value evaluate(const Arrays& inputs, const Layout& layout, const std::vector<double>& scalars)
      const;

  size_t metric_count() const {
    return metrics_.size();
  }
  Parts parts(const mx::array& parts_M2) const;
  void merge(Parts& into, const Parts& more) const;
  // Metrics by name; NaN where nothing had weight.
  std::map<std::string, double> metrics(const Parts& parts) const;

 private:
  // The roots and all that they are made from.
  std::vector<bool> reached_from(const std::vector<int>& roots) const;
  // Values of the needed nodes; scalars come from `scalar(node, args)`.
  std::vector<std::optional<mx::array>> run(
      const Arrays& inputs,
      const Segments& segments,
      const std::vector<bool>& needed,
      const std::function<double(size_t, const std::vector<mx::array>&)>& scalar) const;

  std::vector<Input> inputs_;
  std::vector<Node> nodes_;
  std::vector<Term> loss_;
  std::vector<Metric> metrics_;
  int unit_ = 1;
};

}  // namespace atelier::program
