import { ktoLoss } from '../../shared/algorithms/kto';
import { orpoLoss } from '../../shared/algorithms/orpo';
import { rewardModelLoss } from '../../shared/algorithms/reward-model';
import { nll, smoothed } from '../../shared/algorithms/preference';
import { simpoLoss } from '../../shared/algorithms/simpo';
import { ProgramBuilder, type LossProgram } from '../../shared/program';
import { file, flat, interleave, type Json, type LossFile } from './case';
import { Head } from './head';

/** The KL baseline is of mismatched pairs that the data side makes. */
export const kto = (fixture: Json): LossFile =>
  file({
    programs: fixture.cases.map((c: Json) => {
      const inputs = { ...fixture.inputs, ...c.inputs };
      const mask: number[][] = inputs.completion_mask.map((m: number[]) => m.slice(1));
      const program = ktoLoss({
        loss: c.config.loss_type,
        beta: c.config.beta,
        desirableWeight: c.config.desirable_weight,
        undesirableWeight: c.config.undesirable_weight,
      });
      const reference = flat(inputs.ref_logps);
      const refKl = flat(inputs.ref_kl_logps ?? []);
      const available: Record<string, number[]> = {
        loss: flat(mask),
        logp: flat(inputs.logprobs),
        // the file has sums: each stands at its row's first token that counts
        refLogp: mask.flatMap((row, i) => row.map((_, t) => (t === row.indexOf(1) ? reference[i]! : 0))),
        mismatchedLogRatio: flat(inputs.kl_logps ?? []).map((x, i) => x - refKl[i]!),
        label: flat(inputs.label),
        // only reported, and not in the file
        entropy: flat(mask).map(() => 0),
      };
      const m = c.expected.metrics;
      return {
        name: c.name,
        program,
        given: {
          targets: mask.map((row) => row.length),
          inputs: Object.fromEntries(program.inputs.map((i) => [i.name, available[i.name]])),
          gradients: ['logp'],
        },
        loss: c.expected.loss,
        metrics: {
          'policy/kl_baseline': m.kl,
          'preference/chosen': m['rewards/chosen'],
          'preference/rejected': m['rewards/rejected'],
        },
        gradients: { logp: flat(c.expected.grad_logprobs) },
      };
    }),
  });

/** TPO (arXiv 2405.16681); the third answer is the gold one. */
function tpoProgram(c: Json): LossProgram {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const logp = p.engine('logp', loss);
  const policy = ['ipo', 'tpo-l'].includes(c.loss_type) ? logp.segMean(loss) : logp.segSum();
  const [chosen, rejected] = [policy.part(0, 3), policy.part(1, 3)];
  const margin = chosen.minus(rejected);
  const gamma = c.loss_type === 'tpo-l' ? c.tpo_l_gamma : 0;
  const value =
    c.loss_type === 'hinge'
      ? margin.times(c.beta).neg().plus(1).relu()
      : c.loss_type === 'ipo'
        ? margin.minus(1 / (2 * c.beta)).square()
        : smoothed(margin.minus(gamma / c.beta).times(c.beta), c.label_smoothing);
  p.loss('preference', value, p.sequences().over(3));
  const gold = p.mask('chosenTokens', 'T');
  if (c.tpo_alpha > 0) p.loss('nll', nll(p, gold).times(c.tpo_alpha), gold.count());
  p.mean('rewards/chosen', chosen.times(c.beta));
  p.mean('rewards/rejected', rejected.times(c.beta));
  p.mean('rewards/accuracies', chosen.gt(rejected).number());
  p.mean('rewards/margins', margin.times(c.beta));
  p.mean('logps/chosen', chosen);
  p.mean('logps/rejected', rejected);
  return p.build();
}

/** trl's names of what the product's programs report. */
const PAIR_METRICS: Record<string, string> = {
  'rewards/chosen': 'preference/chosen',
  'rewards/rejected': 'preference/rejected',
  'rewards/accuracies': 'preference/accuracy',
  'rewards/margins': 'preference/margin',
};

/** Files whose rows come as logits [n * N, T, V] of which entry t predicts token t + 1. */
function fromLogits(
  fixture: Json,
  n: 2 | 3,
  make: (c: Json) => LossProgram,
  likelihoodOf: (i: number) => string,
  /** Our names of the metrics that are compared; absent: all, by the file's. */
  names?: Record<string, string>,
): LossFile {
  const inputs = fixture.inputs;
  const order = interleave([...inputs.logits.keys()] as number[], n);
  const steps: number = inputs.logits[0].length - 1;
  const rows = <X>(f: (row: number, t: number) => X): X[] =>
    order.flatMap((row) => Array.from({ length: steps }, (_, t) => f(row, t)));
  const head = new Head(
    rows((r, t) => inputs.logits[r][t] as number[]),
    rows((r, t) => inputs.input_ids[r][t + 1] as number),
  );
  const inCompletion = (r: number, t: number) =>
    inputs.labels ? inputs.labels[r][t + 1] !== -100 : inputs.completion_mask[r][t + 1] === 1;
  const masks: Record<string, (r: number, t: number) => boolean> = {
    completion: inCompletion,
    everything: (r, t) => inputs.attention_mask[r][t + 1] === 1,
    none: () => false,
  };
  const position = new Map(order.map((row, i) => [row, i]));
  // A gradient by logits in the file's order; the last position of a row predicts nothing.
  const inOrder = (grad: number[]): number[] => {
    const v: number = inputs.logits[0][0].length;
    return [...inputs.logits.keys()].flatMap((row: number) => [
      ...grad.slice(position.get(row)! * steps * v, (position.get(row)! + 1) * steps * v),
      ...Array<number>(v).fill(0),
    ]);
  };
  const metricsWaiting = ['logits/chosen', 'logits/rejected'];
  const waits =
    !names && fixture.cases.some((c: Json) => metricsWaiting.some((m) => m in c.expected.metrics));
  return file({
    programs: fixture.cases.map((c: Json) => {
      const program = make(c.config);
      const available: Record<string, number[]> = {
        loss: rows((r, t) => (inCompletion(r, t) ? 1 : 0)),
        chosen: order.map((_, i) => (i % n === 0 ? 1 : 0)),
        chosenTokens: order.flatMap((row, i) =>
          Array.from({ length: steps }, (_, t) => (masks[likelihoodOf(i % n)](row, t) ? 1 : 0)),
        ),
        logp: head.logp,
        entropy: head.entropy,
      };
      return {
        name: c.name,
        program,
        given: {
          targets: order.map(() => steps),
          inputs: Object.fromEntries(program.inputs.map((i) => [i.name, available[i.name]])),
          gradients: ['logp'],
        },
        loss: c.expected.loss,
        metrics: Object.fromEntries(
          Object.entries(c.expected.metrics)
            .filter(([k]) => (names ? k in names : !metricsWaiting.includes(k)))
            .map(([k, value]) => [names?.[k] ?? k, value]),
        ) as Record<string, number>,
        gradients: { logits: flat(c.expected.grad_logits) },
        chain: (g: Record<string, Float64Array>) => ({ logits: inOrder(head.gradLogits({ logp: g.logp! })) }),
      };
    }),
    waiting: waits
      ? [
          {
            part: `metrics ${metricsWaiting.join(', ')}`,
            quantity: 'meanLogits (mean over the vocabulary of the logits)',
          },
        ]
      : [],
  });
}

export const cpoSimpo = (fixture: Json): LossFile =>
  fromLogits(
    fixture,
    2,
    (c) =>
      simpoLoss({
        loss: c.loss_type,
        beta: c.beta,
        margin: c.simpo_gamma,
        sftWeight: c.cpo_alpha,
        curvature: c.alpha,
        labelSmoothing: c.label_smoothing,
      }),
    () => 'none',
    PAIR_METRICS,
  );
export const tpo = (fixture: Json): LossFile =>
  fromLogits(fixture, 3, tpoProgram, (k) => (k === 2 ? 'completion' : 'none'));
export const orpo = (fixture: Json): LossFile =>
  fromLogits(fixture, 2, orpoLoss, (k) => (k === 0 ? 'everything' : 'none'), {
    ...PAIR_METRICS,
    nll_loss: 'train/nll',
  });

/** Bradley-Terry with a margin that each pair has of its own. */
function marginProgram(centre: number): LossProgram {
  const p = new ProgramBuilder();
  const score = p.engine('score');
  const [chosen, rejected] = [score.part(0, 2), score.part(1, 2)];
  const pairs = p.sequences().over(2);
  p.loss('pairs', chosen.minus(rejected).minus(p.data('margin', 'S/2')).logSigmoid().neg(), pairs);
  if (centre > 0) p.loss('centre', chosen.plus(rejected).square().times(centre), pairs);
  return p.build();
}

/** The product's program, but where pairs come with margins of their own. */
export const rewardModel = (fixture: Json): LossFile =>
  file({
    programs: fixture.cases.map((c: Json) => {
      const centre = c.config.center_rewards_coefficient ?? 0;
      const own = !c.config.margin;
      const program = own ? rewardModelLoss({ centre }) : marginProgram(centre);
      const { accuracy, margin } = c.expected.metrics;
      const rewards: number[] = interleave(fixture.inputs.rewards, 2);
      return {
        name: c.name,
        program,
        given: {
          targets: rewards.map(() => 1),
          inputs: {
            score: rewards,
            ...(c.config.margin && { margin: flat(fixture.inputs.margin) }),
          },
          gradients: ['score'],
        },
        loss: c.expected.loss,
        metrics: own ? { 'preference/accuracy': accuracy, 'preference/margin': margin } : {},
        gradients: { score: interleave(flat(c.expected.grad_rewards), 2) },
      };
    }),
  });
