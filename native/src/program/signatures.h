#pragma once

#include "program/node.h"

#include <vector>

namespace atelier::program {

/**
 * Fills in shape, mask and differentiable of a node from its arguments. `input` is not among the ops: the
 * caller knows its type. Throws Error (invalid_argument): what the op wants and what it got.
 */
void infer(Node& node, const std::vector<Node>& before);

/** Whether its value is one number of the whole optimiser step, made from vectors. */
bool is_whole_step(const Node& node);

}  // namespace atelier::program
