#pragma once

#include "kernels/primitive.h"

namespace atelier {

/** What one AdamW update multiplies by (torch.optim.AdamW's, with the bias corrections in it). */
struct AdamWNumbers {
  float beta1, beta2, epsilon;
  /** 1 - beta1, 1 - beta2, as doubles have them. */
  float rest1, rest2;
  /** 1 - rate * decay. */
  float keep;
  /** rate / (1 - beta1^t), 1 / sqrt(1 - beta2^t). */
  float rate, root;
};

struct AdamWMoved {
  mx::array parameter, m, v;
};

/**
 * m' = beta1 m + rest1 g, v' = beta2 v + rest2 g², p' = keep p - rate m' / (root sqrt(v') + epsilon), f32.
 */
AdamWMoved adamw_plain(
    const mx::array& p,
    const mx::array& g,
    const mx::array& m,
    const mx::array& v,
    const AdamWNumbers& numbers);
/** The same in one pass. f32 on the CPU. */
AdamWMoved adamw_cpu(
    const mx::array& p,
    const mx::array& g,
    const mx::array& m,
    const mx::array& v,
    const AdamWNumbers& numbers);
/** On CUDA. */
AdamWMoved adamw_gpu(
    const mx::array& p,
    const mx::array& g,
    const mx::array& m,
    const mx::array& v,
    const AdamWNumbers& numbers);
bool adamw_fits_gpu(const mx::array& p);

}  // namespace atelier
