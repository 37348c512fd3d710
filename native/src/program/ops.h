// The ops of the loss language on MLX arrays: each lazy and, where its signature says so, differentiable.
#pragma once

#include "core/mlx.h"
#include "program/node.h"

#include <vector>

namespace atelier::program {

struct Layout;

/** Where targets lie, as arrays, made once an evaluation. */
struct Segments {
  explicit Segments(const Layout& layout);

  const Layout& layout;
  /** [T] i32 */
  mx::array trajectory_T;
  int targets;
  int trajectories;
};

/** Numbers are f32, masks bool. Not for `input` and whole-step ops. */
mx::array apply(const Node& node, const std::vector<mx::array>& args, const Segments& segments);

}  // namespace atelier::program
