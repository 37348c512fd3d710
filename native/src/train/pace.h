#pragma once

#include "core/mlx.h"

namespace atelier {

/**
 * x. The host queues a GPU's work some hundred operations ahead, and what each of them reads stays until it is done: up
 * to twice the memory that a step needs. Where x is evaluated, and where its gradient is, that memory is released to
 * what comes after (ReuseInOrder); where it cannot be, the host first waits until one piece of the work at most is left.
 * Nothing on the CPU.
 */
mx::array keep_pace(const mx::array& x);

}  // namespace atelier
