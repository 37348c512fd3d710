#pragma once

#include "core/mlx.h"
#include "core/params.h"

#include <cstdint>
#include <memory>

namespace atelier {

/** What is the same for every parameter of one update. */
struct Pace {
  double learning_rate;
  /** Of the update, from 1. */
  int64_t step;
};

/**
 * How one parameter moves: an optimiser for one f32 array. It holds constants only; what it remembers is the
 * caller's, f32 but for 8-bit codes.
 */
class Rule {
 public:
  virtual ~Rule() = default;
  /** What is remembered of a parameter of this shape before its first update, by name. */
  virtual Params start(const mx::Shape& shape) const = 0;
  /** The moved parameter; `state` moves on with it. Lazy. */
  virtual mx::array move(
      const mx::array& parameter,
      const mx::array& gradient,
      Params& state,
      const Pace& pace) const = 0;
};
using RulePtr = std::shared_ptr<const Rule>;

struct AdamWConstants {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

/** torch.optim.AdamW (torch 2.15.0): f32 states `m`, `v`, bias correction. `decay` is decoupled, here and below. */
RulePtr adamw_rule(const AdamWConstants& constants, double decay);

/** torch.optim.Adam (torch 2.15.0): `decay` is part of the gradient (L2), and of the moments with it. */
RulePtr adam_rule(const AdamWConstants& constants, double decay);

/**
 * AdamW whose states are 8-bit codes between updates, as bitsandbytes' AdamW8bit (block-wise): the dynamic map
 * (Dettmers, arXiv 2110.02861; signed for m, unsigned for v) in blocks of 256 numbers, each scaled by its largest
 * magnitude, f32. Parameters of fewer than 4,096 numbers keep f32 states, as there.
 */
RulePtr adamw_8bit_rule(const AdamWConstants& constants, double decay);

/**
 * Adafactor (Shazeer and Stern, arXiv 1804.04235) without momentum: second moments of a matrix as one number a row
 * and one a column, updates clipped to RMS 1. `relative`: torch.optim.Adafactor (torch 2.15.0), the step is
 * min(rate, 1/sqrt(t)) times the parameter's RMS (at least 1e-3); else the rate as it stands, as
 * transformers.Adafactor with relative_step and scale_parameter off.
 */
RulePtr adafactor_rule(bool relative, double decay);

/** torch.optim.SGD (torch 2.15.0); as there, `decay` is part of the gradient. */
RulePtr sgd_rule(double momentum, double decay);

/**
 * Muon with Nesterov momentum (Jordan et al. 2024) as torch.optim.Muon (torch 2.15.0), for matrices [.., out, in]:
 * the momentum is made nearly orthogonal by five Newton-Schulz steps, in f32 (torch: bf16). The rate is scaled by
 * sqrt(max(1, out/in)); with `match_adamw` by 0.2 sqrt(max(out, in)), which gives updates the RMS that AdamW's
 * have (Moonlight, arXiv 2502.16982, eq. 4), so that one rate suits both.
 */
RulePtr muon_rule(double momentum, bool match_adamw, double decay);

}  // namespace atelier
