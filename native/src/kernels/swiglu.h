#pragma once

#include "kernels/primitive.h"

namespace atelier {

/** silu(gate) * up of [..., 2F] = gate, up side by side (Shazeer, "GLU variants improve Transformer", 2020). */
mx::array swiglu_plain(const mx::array& gate_up);
/** The same in one pass each way. f32 on the CPU. */
mx::array swiglu_cpu(const mx::array& gate_up);
/** On CUDA. */
mx::array swiglu_gpu(const mx::array& gate_up);
bool swiglu_fits_gpu(const mx::array& gate_up);

/** gelu(gate) * up, gelu(x) = x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x³))) / 2 (Hendrycks and Gimpel, 2016). */
mx::array geglu_plain(const mx::array& gate_up);
/** The same in one pass each way. f32 on the CPU. */
mx::array geglu_cpu(const mx::array& gate_up);

}  // namespace atelier
