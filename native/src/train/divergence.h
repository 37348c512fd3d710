#pragma once

#include "train/vocabulary.h"

namespace atelier {

/**
 * Generalised Jensen-Shannon divergence of the student's distribution p from the teacher's q (GKD, arXiv 2306.13649;
 * trl 1.16.0, GKDTrainer.generalized_jsd_loss), both of logits / temperature. beta 0: KL(q || p); 1: KL(p || q);
 * between: beta KL(q || m) + (1 - beta) KL(p || m) with m = (1 - beta) p + beta q. The gradient is by the student's
 * logits.
 */
TokenValue
jsd(const mx::array& student_CV, const mx::array& teacher_CV, float beta, float temperature);

struct TopkOptions {
  /** The student's most probable tokens; all of them where the vocabulary is smaller. */
  int k = 1;
  /** The rest of the vocabulary counts as one more token; otherwise both sides are renormalised over the k. */
  bool tail = false;
  float alpha = 0;
  float temperature = 1;
};

/** `jsd` with beta = alpha on the student's top k (trl 1.16.0, trl.experimental.sdft.loss_utils). */
TokenValue
topk_divergence(const mx::array& student_CV, const mx::array& teacher_CV, const TopkOptions& o);

}  // namespace atelier
