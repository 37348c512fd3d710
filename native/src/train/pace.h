#pragma once

#include "core/mlx.h"

namespace atelier {

/**
 * x. The host queues a GPU's work some hundred operations ahead, and what each of them reads stays until it is done: up
 * to twice the memory that a step needs. Where x is evaluated, and where its gradient is, the host first waits until one
 * piece of that work at most is left. Nothing on the CPU.
 */
mx::array keep_pace(const mx::array& x);

}  // namespace atelier
