#pragma once

#include "kernels/primitive.h"

namespace atelier {

/**
 * One token a row of logits [B, V] at a temperature above 0, unfiltered, by inverting the cumulative
 * distribution at uniform [B]: token (int32 [B]), its log-probability at that temperature, and at temperature 1.
 */
struct DrawnTokens {
  mx::array token, logprob, raw_logprob;
};
DrawnTokens draw_plain(const mx::array& logits_BV, float temperature, const mx::array& uniform_B);
/** The same in one pass a row. f32 on the CPU. */
DrawnTokens draw_cpu(const mx::array& logits_BV, float temperature, const mx::array& uniform_B);
/** On CUDA. */
DrawnTokens draw_gpu(const mx::array& logits_BV, float temperature, const mx::array& uniform_B);
bool draw_fits_gpu(const mx::array& logits_BV);

}  // namespace atelier
