import { Num, ProgramBuilder, type LossProgram } from '../../shared/program';
import { file, flat, interleave, type Json, type LossFile } from './case';

/** Score of a sequence against the reference under the chosen f-divergence (f-DPO, arXiv 2309.16240). */
function divergenceScore(c: Json, logRatio: Num): Num {
  if (c.f_divergence_type === 'forward_kl') return logRatio.neg().exp().neg().plus(1);
  if (c.f_divergence_type === 'js_divergence') return logRatio.logSigmoid().plus(Math.log(2));
  if (c.f_divergence_type === 'alpha_divergence') {
    const a = c.f_alpha_divergence_coef - 1;
    return logRatio.times(a).exp().minus(1).over(a);
  }
  return logRatio;
}

interface Pair {
  score: Num;
  chosen: Num;
  rejected: Num;
  chosenPolicy: Num;
  rejectedPolicy: Num;
  scoreMean: Num;
}

/** Losses by pair, by trl's name. */
function pairLoss(name: string, c: Json, s: Pair): Num {
  const { beta } = c;
  const eps = c.label_smoothing;
  const x = s.score.times(beta);
  const smoothed = (v: Num) =>
    v
      .logSigmoid()
      .times(-(1 - eps))
      .minus(v.neg().logSigmoid().times(eps));
  const [cr, rr] = [s.chosen.times(beta), s.rejected.times(beta)];
  const sorted = (a: Num, b: Num) => smoothed(a.sort().minus(b.sort()).times(beta));
  const table: Record<string, () => Num> = {
    sigmoid: () => smoothed(x),
    hinge: () => x.neg().plus(1).relu(),
    ipo: () => s.scoreMean.minus(1 / (2 * beta)).square(),
    exo_pair: () =>
      x
        .sigmoid()
        .times(x.logSigmoid().minus(Math.log1p(-eps)))
        .plus(
          x
            .neg()
            .sigmoid()
            .times(x.neg().logSigmoid().minus(Math.log(eps))),
        ),
    nca_pair: () =>
      cr.logSigmoid().neg().minus(cr.neg().logSigmoid().times(0.5)).minus(rr.neg().logSigmoid().times(0.5)),
    robust: () =>
      x
        .logSigmoid()
        .times(-(1 - eps))
        .plus(x.neg().logSigmoid().times(eps))
        .over(1 - 2 * eps),
    bco_pair: () => cr.logSigmoid().plus(rr.neg().logSigmoid()).neg(),
    sppo_hard: () =>
      s.chosen
        .minus(0.5 / beta)
        .square()
        .plus(s.rejected.plus(0.5 / beta).square()),
    aot: () => {
      const policy = s.chosenPolicy.minus(s.rejectedPolicy);
      const reference = policy.minus(s.chosen.minus(s.rejected));
      return sorted(policy, reference);
    },
    aot_unpaired: () => sorted(s.chosen, s.rejected),
    apo_zero: () => cr.sigmoid().neg().plus(1).plus(rr.sigmoid()),
    apo_down: () => cr.sigmoid().plus(1).minus(cr.minus(rr).sigmoid()),
    discopop: () => {
      const gate = x.over(c.discopop_tau).sigmoid();
      return x.logSigmoid().neg().times(gate.neg().plus(1)).plus(x.neg().exp().times(gate));
    },
    sigmoid_norm: () => s.scoreMean.times(beta).logSigmoid().neg(),
  };
  return table[name]();
}

export function dpoProgram(c: Json): LossProgram {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const pick = (x: Num, k: number) => x.part(k, 2);
  let logp = p.engine('logp', loss);
  let ref = p.data('refLogp', 'T', loss);
  const length = loss.length();
  if (c.ld_alpha !== undefined) {
    // LD-DPO, arXiv 2409.06411: what goes beyond the shorter of the two counts less.
    const shared = pick(length, 0).min(pick(length, 1)).unpart();
    const weight = loss.position().lt(shared.spread()).choose(1, c.ld_alpha);
    logp = logp.times(weight);
    ref = ref.times(weight);
  }
  const policy = logp.segSum();
  const logRatio = policy.minus(ref.segSum());
  const score = divergenceScore(c, logRatio);
  const mean = score.over(length.max(1));
  const pair: Pair = {
    score: pick(score, 0).minus(pick(score, 1)),
    scoreMean: pick(mean, 0).minus(pick(mean, 1)),
    chosen: pick(logRatio, 0),
    rejected: pick(logRatio, 1),
    chosenPolicy: pick(policy, 0),
    rejectedPolicy: pick(policy, 1),
  };
  const pairs = p.sequences().over(2);
  const weights: number[] = c.loss_weights ?? [1];
  c.loss_type.forEach((name: string, i: number) => {
    if (name === 'sft') {
      const chosen = p.mask('chosen', 'S').spread().and(loss);
      p.loss('sft', chosen.choose(logp, 0).times(-weights[i]), chosen.count());
      return;
    }
    let value = pairLoss(name, c, pair).times(weights[i]);
    if (c.use_weighting) {
      // WPO, arXiv 2406.11827, eq. 2.
      const aligned = logp.minus(p.engine('logSumSqProbs', loss)).segMean(loss).exp().stopGradient();
      value = value.times(pick(aligned, 0).times(pick(aligned, 1)));
    }
    p.loss(name, value, pairs);
  });
  const [chosen, rejected] = [pair.chosen.times(c.beta), pair.rejected.times(c.beta)];
  p.mean('rewards/chosen', chosen);
  p.mean('rewards/rejected', rejected);
  p.mean('rewards/accuracies', chosen.gt(rejected).number());
  p.mean('rewards/margins', chosen.minus(rejected));
  p.mean('logps/chosen', pair.chosenPolicy);
  p.mean('logps/rejected', pair.rejectedPolicy);
  p.mean('entropy', p.engine('entropy', loss), loss);
  return p.build();
}

export function dpo(fixture: Json): LossFile {
  const inputs = fixture.inputs;
  const rows = interleave(inputs.completion_mask, 2).map((m) => (m as number[]).slice(1));
  const pairUp = (x: Json[]) => flat(interleave(x, 2));
  const available: Record<string, number[]> = {
    loss: flat(rows),
    logp: pairUp(inputs.logprobs),
    refLogp: pairUp(inputs.ref_logprobs),
    logSumSqProbs: pairUp(inputs.log_sum_sq_probs),
    entropy: pairUp(inputs.entropies),
    chosen: rows.map((_, i) => (i % 2 === 0 ? 1 : 0)),
  };
  return file({
    programs: fixture.cases.map((c: Json) => {
      const program = dpoProgram(c.config);
      return {
        name: c.name,
        program,
        given: {
          targets: rows.map((r) => r.length),
          inputs: Object.fromEntries(program.inputs.map((i) => [i.name, available[i.name]])),
          gradients: ['logp'],
        },
        loss: c.expected.loss,
        metrics: c.expected.metrics,
        gradients: { logp: pairUp(c.expected.grad_logprobs) },
      };
    }),
  });
}
