#include "core/error.h"
#include "program/program.h"

#include <algorithm>

namespace atelier::program {

Layout Layout::of_rows(
    const std::vector<int32_t>& targets,
    const std::vector<int32_t>& trajectories) {
  if (!trajectories.empty() && trajectories.size() != targets.size()) {
    throw Error(
        ErrorCode::invalid_argument,
        "trajectories has " + std::to_string(trajectories.size()) + " entries for " +
            std::to_string(targets.size()) + " rows");
  }
  Layout layout;
  for (size_t row = 0; row < targets.size(); row++) {
    int32_t trajectory = trajectories.empty() ? static_cast<int32_t>(row) : trajectories[row];
    if (trajectory < 0 || targets[row] < 0) {
      throw Error(
          ErrorCode::invalid_argument, "row " + std::to_string(row) + ": a negative number");
    }
    layout.trajectories = std::max(layout.trajectories, trajectory + 1);
    layout.trajectory_T.insert(layout.trajectory_T.end(), targets[row], trajectory);
  }
  std::vector<bool> seen(layout.trajectories, false);
  for (size_t row = 0; row < targets.size(); row++) {
    seen[trajectories.empty() ? row : trajectories[row]] = true;
  }
  if (std::find(seen.begin(), seen.end(), false) != seen.end()) {
    throw Error(
        ErrorCode::invalid_argument,
        "trajectories must use every number from 0 to " + std::to_string(layout.trajectories - 1));
  }
  return layout;
}

}  // namespace atelier::program
