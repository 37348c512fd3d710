#pragma once

namespace atelier {

/**
 * Whether the kernels of the CPU are used: not on macOS, where MLX's own operations are as good. OpenBLAS, which MLX's
 * products call, is given one thread: its own wait by spinning, which on a machine with other work was seen to be 30
 * times slower than one.
 */
bool has_blas();

}  // namespace atelier
