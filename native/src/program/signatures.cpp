#include "program/signatures.h"

#include "core/error.h"

#include <cmath>
#include <map>

namespace atelier::program {
namespace {

enum class Rule {
  elementwise,
  constant,
  segment,
  position,
  spread,
  part,
  unpart,
  sort,
  whole_step
};

struct Signature {
  /** One letter an argument: n number, m mask, * either. */
  const char* kinds;
  /** What it gives: n, m, or * as its argument. */
  char result;
  Rule rule = Rule::elementwise;
};

// The same table as shared/program/signatures.ts.
const std::map<std::string, Signature>& signatures() {
  static const std::map<std::string, Signature> table = {
      {"const", {"", 'n', Rule::constant}},
      {"sequences", {"", 'n', Rule::constant}},
      {"groups", {"", 'n', Rule::constant}},
      {"neg", {"n", 'n'}},
      {"abs", {"n", 'n'}},
      {"square", {"n", 'n'}},
      {"sqrt", {"n", 'n'}},
      {"exp", {"n", 'n'}},
      {"log", {"n", 'n'}},
      {"log1mexp", {"n", 'n'}},
      {"sigmoid", {"n", 'n'}},
      {"logSigmoid", {"n", 'n'}},
      {"relu", {"n", 'n'}},
      {"stopGradient", {"n", 'n'}},
      {"add", {"nn", 'n'}},
      {"sub", {"nn", 'n'}},
      {"mul", {"nn", 'n'}},
      {"div", {"nn", 'n'}},
      {"min", {"nn", 'n'}},
      {"max", {"nn", 'n'}},
      {"clip", {"nnn", 'n'}},
      {"lt", {"nn", 'm'}},
      {"le", {"nn", 'm'}},
      {"gt", {"nn", 'm'}},
      {"ge", {"nn", 'm'}},
      {"eq", {"nn", 'm'}},
      {"and", {"mm", 'm'}},
      {"or", {"mm", 'm'}},
      {"not", {"m", 'm'}},
      {"number", {"m", 'n'}},
      {"where", {"mnn", 'n'}},
      {"segSum", {"n", 'n', Rule::segment}},
      {"segMean", {"nm", 'n', Rule::segment}},
      {"segLast", {"nm", 'n', Rule::segment}},
      {"position", {"m", 'n', Rule::position}},
      {"spread", {"*", '*', Rule::spread}},
      {"part", {"*", '*', Rule::part}},
      {"unpart", {"*", '*', Rule::unpart}},
      {"sort", {"n", 'n', Rule::sort}},
      {"total", {"*", 'n', Rule::whole_step}},
      {"quantile", {"nmn", 'n', Rule::whole_step}},
      {"kthLargest", {"nmn", 'n', Rule::whole_step}},
  };
  return table;
}

const Signature& signature_of(const std::string& op) {
  auto found = signatures().find(op);
  if (found == signatures().end()) {
    refuse("op '" + op + "' does not exist");
  }
  return found->second;
}

std::string describe(const Node& node) {
  return std::string(node.mask ? "a mask" : "a number") + " [" + node.shape.name() + "]";
}

Shape join(const std::vector<const Node*>& args) {
  Shape shape;
  for (auto* arg : args) {
    if (arg->shape == Shape{} || arg->shape == shape) {
      continue;
    }
    if (shape != Shape{}) {
      refuse("shapes [" + shape.name() + "] and [" + arg->shape.name() + "] do not meet");
    }
    shape = arg->shape;
  }
  return shape;
}

void want_shape(const Node& arg, bool ok, const char* wanted) {
  if (!ok) {
    refuse(std::string("wants ") + wanted + ", is " + describe(arg));
  }
}

Shape shape_by(Rule rule, const Node& node, const std::vector<const Node*>& args) {
  constexpr Shape targets{Shape::targets, 1};
  constexpr Shape sequences{Shape::trajectories, 1};
  switch (rule) {
    case Rule::elementwise:
      return join(args);
    case Rule::constant:
      return {};
    case Rule::segment:
    case Rule::position:
      for (auto* arg : args) {
        want_shape(*arg, arg->shape == targets, "[T]");
      }
      return rule == Rule::segment ? sequences : targets;
    case Rule::spread:
      want_shape(*args[0], args[0]->shape == sequences, "[S]");
      return targets;
    case Rule::part:
      want_shape(*args[0], args[0]->shape == sequences, "[S]");
      if (node.n < 2 || node.k < 0 || node.k >= node.n) {
        refuse("n must be 2 or more and k below it");
      }
      return {Shape::trajectories, node.n};
    case Rule::unpart:
      want_shape(
          *args[0], node.n >= 2 && args[0]->shape == Shape{Shape::trajectories, node.n}, "[S/n]");
      return sequences;
    case Rule::sort:
      want_shape(*args[0], args[0]->shape.of == Shape::trajectories, "[S] or [S/n]");
      return args[0]->shape;
    case Rule::whole_step: {
      want_shape(*args[0], args[0]->shape != Shape{}, "[T], [S] or [S/n]");
      if (args.size() == 3) {
        want_shape(*args[1], args[1]->shape == args[0]->shape, "a mask of the same shape");
        want_shape(*args[2], args[2]->shape == Shape{}, "[scalar]");
      }
      return {};
    }
  }
  return {};
}

}  // namespace

std::string Shape::name() const {
  if (of == scalar) {
    return "scalar";
  }
  if (of == targets) {
    return "T";
  }
  return n == 1 ? "S" : "S/" + std::to_string(n);
}

bool is_whole_step(const Node& node) {
  return node.op != "input" && signature_of(node.op).rule == Rule::whole_step;
}

void infer(Node& node, const std::vector<Node>& before) {
  const auto& signature = signature_of(node.op);
  std::string kinds = signature.kinds;
  if (node.args.size() != kinds.size()) {
    refuse(
        node.op + " takes " + std::to_string(kinds.size()) + " arguments, has " +
        std::to_string(node.args.size()));
  }
  std::vector<const Node*> args;
  for (size_t i = 0; i < kinds.size(); i++) {
    if (node.args[i] < 0 || node.args[i] >= static_cast<int>(before.size())) {
      refuse(node.op + ": argument " + std::to_string(node.args[i]) + " is not an earlier node");
    }
    args.push_back(&before[node.args[i]]);
    if (kinds[i] != '*' && args.back()->mask != (kinds[i] == 'm')) {
      refuse(
          node.op + ": argument " + std::to_string(i + 1) + " must be a " +
          (kinds[i] == 'm' ? "mask" : "number") + ", is " + describe(*args.back()));
    }
  }
  if (node.op == "const" && !std::isfinite(node.value)) {
    refuse("const: must be a finite number");
  }
  try {
    node.shape = shape_by(signature.rule, node, args);
  } catch (const Error& error) {
    refuse(node.op + " " + error.what());
  }
  node.mask = signature.result == 'm' || (signature.result == '*' && args[0]->mask);
  node.differentiable = false;
  bool passes = signature.rule != Rule::whole_step && signature.rule != Rule::position &&
                node.op != "stopGradient" && !node.mask;
  for (auto* arg : args) {
    node.differentiable |= passes && !arg->mask && arg->differentiable;
  }
}

}  // namespace atelier::program
