import {
  dpoLoss,
  PAIR_LOSSES,
  pairTerms,
  reportMeanLogits,
  type PairLoss,
} from '../../shared/algorithms/dpo';
import { type Num, type LossProgram } from '../../shared/program';
import { file, flat, interleave, type Json, type LossCase, type LossFile } from './case';

/** What the product's own program has: one loss, with or without the NLL of the better answers, without WPO. */
const isProduct = (c: Json) =>
  !c.use_weighting &&
  (c.f_alpha_divergence_coef ?? 0.5) === 0.5 &&
  c.loss_type.filter((name: string) => name !== 'sft').length === 1 &&
  (c.loss_weights?.[c.loss_type.findIndex((name: string) => name !== 'sft')] ?? 1) === 1;

const product = (c: Json): LossProgram =>
  dpoLoss({
    loss: c.loss_type.find((name: string) => name !== 'sft') as PairLoss,
    beta: c.beta,
    labelSmoothing: c.label_smoothing ?? 0,
    discopopTau: c.discopop_tau ?? 0.05,
    sftWeight: c.loss_type.includes('sft') ? (c.loss_weights?.[c.loss_type.indexOf('sft')] ?? 1) : 0,
    beyondShorter: c.ld_alpha ?? 1,
    divergence: c.f_divergence_type ?? 'reverse_kl',
  });

/** Without what the file does not have. */
const there = (metrics: Record<string, number | undefined>) =>
  Object.fromEntries(
    Object.entries(metrics).filter((entry): entry is [string, number] => entry[1] !== undefined),
  );

/**
 * Several losses with weights (MPO), and WPO's weights, from the product's parts; with what is of the logits where
 * there are some.
 */
export function dpoProgram(c: Json, whole: 'losses' | 'logits' = 'losses'): LossProgram {
  const { p, loss, logp, pair } = pairTerms({
    beyondShorter: c.ld_alpha ?? 1,
    divergence: c.f_divergence_type ?? 'reverse_kl',
    alpha: c.f_alpha_divergence_coef,
  });
  const pick = (x: Num, k: number) => x.part(k, 2);
  const options = { beta: c.beta, labelSmoothing: c.label_smoothing, discopopTau: c.discopop_tau ?? 0.05 };
  const pairs = p.sequences().over(2);
  const weights: number[] = c.loss_weights ?? [1];
  c.loss_type.forEach((name: string, i: number) => {
    if (name === 'sft') {
      const chosen = p.mask('chosen', 'S').spread().and(loss);
      p.loss('sft', chosen.choose(logp, 0).times(-weights[i]), chosen.count());
      return;
    }
    let value = PAIR_LOSSES[name as PairLoss](pair, options).times(weights[i]);
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
  if (whole === 'logits') {
    reportMeanLogits(p, loss);
    const better = p.mask('chosen', 'S').spread().and(loss);
    p.mean('mean_token_accuracy', p.engine('correct', loss), better);
  }
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
  const caseOf = (
    c: Json,
    name: string,
    program: LossProgram,
    metrics: Record<string, number>,
  ): LossCase => ({
    name,
    program,
    given: {
      targets: rows.map((r) => r.length),
      inputs: Object.fromEntries(program.inputs.map((i) => [i.name, available[i.name]])),
      gradients: ['logp'],
    },
    loss: c.expected.loss,
    metrics,
    gradients: { logp: pairUp(c.expected.grad_logprobs) },
  });
  return file({
    programs: fixture.cases.flatMap((c: Json) => {
      const m = c.expected.metrics;
      const named = there({
        'preference/chosen': m['rewards/chosen'],
        'preference/rejected': m['rewards/rejected'],
        'preference/accuracy': m['rewards/accuracies'],
        'preference/margin': m['rewards/margins'],
        'policy/entropy': m.entropy,
      });
      return [
        caseOf(c, c.name, dpoProgram(c.config), m),
        ...(isProduct(c.config) ? [caseOf(c, `${c.name} by dpo.ts`, product(c.config), named)] : []),
      ];
    }),
  });
}
