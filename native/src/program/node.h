// One step of a program, and what its sums are made of.
#pragma once

#include <string>
#include <vector>

namespace atelier::program {

// Number of entries: one a target, one a trajectory, one for each n trajectories, or one.
struct Shape {
  enum Of { scalar, targets, trajectories } of = scalar;
  int n = 1;  // trajectories an entry stands for
  bool operator==(const Shape&) const = default;
  std::string name() const;
};

struct Node {
  std::string op;
  std::vector<int> args;
  std::string name;  // input
  double value = 0;  // const
  int k = 0;         // part
  int n = 0;         // part, unpart

  Shape shape;
  bool mask = false;
  bool differentiable = false;
};

// sum(value) / over
struct Term {
  std::string name;
  int value = 0;
  int over = 0;
};

struct Metric {
  enum Reduce { mean, sum, min, max, scalar } reduce = mean;
  std::string name;
  int value = 0;
  int weight = -1;
};

}  // namespace atelier::program
