#include "core/error.h"
#include "program/program.h"

#include <algorithm>

namespace atelier::program {
namespace {

int entries(const std::string& shape, int targets, int trajectories) {
  if (shape == "scalar") {
    return 1;
  }
  if (shape == "T") {
    return targets;
  }
  return shape == "S" ? trajectories : trajectories / std::stoi(shape.substr(2));
}

}  // namespace

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
    // Those that no node reads, too: a step cuts every input to its micro-batches.
    auto wanted = static_cast<size_t>(entries(input.shape, targets, layout.trajectories));
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
        throw Error(
            ErrorCode::invalid_argument, "inputs." + name + ": the program has no such input");
      }
    }
  }
}

}  // namespace atelier::program
