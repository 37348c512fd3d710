import { z } from 'zod';
import { ProgramBuilder, type LossProgram, type Mask, type Num } from '../program';
import type { Algorithm, MetricInfo } from './algorithm';
import { adapterParams, optimizerParams } from './common';
import { field } from './fields';
import { ENTROPY_METRIC } from './metrics';
import {
  betaParam,
  labelSmoothingParam,
  PREFERENCE_METRICS,
  ratedNeeds,
  ratedParams,
  ratedSteps,
  reportPair,
  smoothed,
} from './preference';

const LOSSES = {
  sigmoid: 'Sigmoid (DPO)',
  ipo: 'Squared distance to a margin (IPO)',
  hinge: 'Hinge (SLiC)',
  robust: 'Robust to wrong labels',
  exo_pair: 'EXO',
  nca_pair: 'NCA',
  bco_pair: 'BCO',
  sppo_hard: 'SPPO',
  apo_zero: 'APO, pull the better up',
  apo_down: 'APO, push both down',
  discopop: 'DiscoPOP',
  sigmoid_norm: 'Sigmoid, by length',
  aot: 'Sorted over the batch (AOT)',
  aot_unpaired: 'Sorted, unpaired (AOT)',
} as const;
export type PairLoss = keyof typeof LOSSES;
/** Losses on the score that a divergence gives; the others are on log-ratios themselves. */
const BY_SCORE: PairLoss[] = ['sigmoid', 'ipo', 'hinge', 'robust', 'exo_pair', 'discopop', 'sigmoid_norm'];

const params = z
  .strictObject({
    ...ratedParams('pairs', { batchSize: 16 }),
    ...betaParam(
      0.1,
      'How strongly the policy is held to the base model. Smaller lets it move further; 0.1 is usual.',
    ),
    ...optimizerParams({ learningRate: 1e-5, schedule: 'linear', warmup: 0.1 }),
    loss: field(z.enum(Object.keys(LOSSES) as [PairLoss, ...PairLoss[]]).default('sigmoid'), {
      label: 'Loss',
      help: 'How a pair that is told apart too little is punished.',
      level: 'advanced',
      section: 'Objective',
      options: LOSSES,
    }),
    ...labelSmoothingParam(['sigmoid', 'exo_pair', 'robust', 'aot', 'aot_unpaired']),
    discopopTau: field(z.number().min(0.001).max(100).default(0.05), {
      label: 'Width of the blend (DiscoPOP)',
      help: 'Of DiscoPOP alone; 0.05 is its paper’s. Below 0.1, pairs that nothing tells apart yet first move the wrong way, and may stay there.',
      when: { key: 'loss', is: 'discopop' },
      level: 'advanced',
      section: 'Objective',
      step: 0.05,
    }),
    sftWeight: field(z.number().min(0).max(100).default(0), {
      label: 'Also learn the better answer',
      help: 'Weight of the plain loss on the better answers (RPO). It keeps them from becoming unlikely.',
      level: 'advanced',
      section: 'Objective',
      step: 0.1,
    }),
    beyondShorter: field(z.number().min(0).max(1).default(1), {
      label: 'Weight beyond the shorter answer',
      help: 'What the longer answer has beyond the length of the shorter counts this much (LD-DPO). 1 is plain DPO.',
      level: 'advanced',
      section: 'Objective',
      step: 0.05,
    }),
    divergence: field(
      z.enum(['reverse_kl', 'forward_kl', 'js_divergence', 'alpha_divergence']).default('reverse_kl'),
      {
        label: 'Divergence',
        help: 'What holds the policy to the base model (f-DPO). Reverse KL is plain DPO.',
        when: { key: 'loss', is: BY_SCORE },
        level: 'advanced',
        section: 'Objective',
        options: {
          reverse_kl: 'Reverse KL',
          forward_kl: 'Forward KL',
          js_divergence: 'Jensen-Shannon',
          alpha_divergence: 'Alpha, 0.5',
        },
      },
    ),
    reportLogits: field(z.boolean().default(false), {
      label: 'Report logits',
      help: 'Also shows the mean logit of the better and of the worse answers, as TRL does. Both drifting off together means that the text itself suffers.',
      level: 'advanced',
      section: 'Objective',
    }),
    ...adapterParams(),
  })
  .refine((p) => (p.loss !== 'exo_pair' && p.loss !== 'robust') || p.labelSmoothing > 0, {
    path: ['labelSmoothing'],
    error: 'must be above 0 for this loss: try 0.01',
  });
type Params = z.output<typeof params>;

/** A step's pairs as numbers [S/2]; `score` is the f-divergence's, log pi - log ref with reverse KL. */
export interface Pair {
  score: Num;
  /** The score's difference, each divided by its answer's tokens. */
  scoreMean: Num;
  /** log pi - log ref of the answer. */
  chosen: Num;
  rejected: Num;
  chosenPolicy: Num;
  rejectedPolicy: Num;
}

export interface PairTerms {
  p: ProgramBuilder;
  loss: Mask;
  /** [T] */
  logp: Num;
  pair: Pair;
}

/** Score of an answer under an f-divergence (f-DPO, arXiv 2309.16240, table 1). */
function divergenceScore(kind: Params['divergence'], alpha: number, logRatio: Num): Num {
  if (kind === 'forward_kl') return logRatio.neg().exp().neg().plus(1);
  if (kind === 'js_divergence') return logRatio.logSigmoid().plus(Math.log(2));
  if (kind === 'alpha_divergence') {
    const a = alpha - 1;
    return logRatio.times(a).exp().minus(1).over(a);
  }
  return logRatio;
}

/** Trajectories 2k and 2k + 1 are the better and the worse answer to one prompt. */
export function pairTerms(o: {
  beyondShorter: number;
  divergence: Params['divergence'];
  alpha?: number;
}): PairTerms {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const logp = p.engine('logp', loss);
  let [ours, reference] = [logp, p.data('refLogp', 'T', loss)];
  const length = loss.length();
  if (o.beyondShorter < 1) {
    // LD-DPO, arXiv 2409.06411, eq. 10
    const shared = length.part(0, 2).min(length.part(1, 2)).unpart();
    const weight = loss.position().lt(shared.spread()).choose(1, o.beyondShorter);
    ours = ours.times(weight);
    reference = reference.times(weight);
  }
  const policy = ours.segSum();
  const logRatio = policy.minus(reference.segSum());
  const score = divergenceScore(o.divergence, o.alpha ?? 0.5, logRatio);
  const byToken = score.over(length.max(1));
  const difference = (x: Num) => x.part(0, 2).minus(x.part(1, 2));
  return {
    p,
    loss,
    logp,
    pair: {
      score: difference(score),
      scoreMean: difference(byToken),
      chosen: logRatio.part(0, 2),
      rejected: logRatio.part(1, 2),
      chosenPolicy: policy.part(0, 2),
      rejectedPolicy: policy.part(1, 2),
    },
  };
}

type LossOptions = { beta: number; labelSmoothing: number; discopopTau: number };

/** Loss of each pair, [S/2], by trl 1.16.0's names. */
export const PAIR_LOSSES: Record<PairLoss, (s: Pair, o: LossOptions) => Num> = {
  /** arXiv 2305.18290, eq. 7; smoothed: cDPO. */
  sigmoid: (s, o) => smoothed(s.score.times(o.beta), o.labelSmoothing),
  hinge: (s, o) => s.score.times(o.beta).neg().plus(1).relu(),
  /** arXiv 2310.12036, eq. 17, on means by token as trl. */
  ipo: (s, o) => s.scoreMean.minus(1 / (2 * o.beta)).square(),
  exo_pair: (s, o) => {
    const x = s.score.times(o.beta);
    const kl = (v: Num, target: number) => v.sigmoid().times(v.logSigmoid().minus(target));
    return kl(x, Math.log1p(-o.labelSmoothing)).plus(kl(x.neg(), Math.log(o.labelSmoothing)));
  },
  nca_pair: (s, o) => {
    const [chosen, rejected] = [s.chosen.times(o.beta), s.rejected.times(o.beta)];
    return chosen
      .logSigmoid()
      .neg()
      .minus(chosen.neg().logSigmoid().times(0.5))
      .minus(rejected.neg().logSigmoid().times(0.5));
  },
  robust: (s, o) => {
    const x = s.score.times(o.beta);
    return x
      .logSigmoid()
      .times(-(1 - o.labelSmoothing))
      .plus(x.neg().logSigmoid().times(o.labelSmoothing))
      .over(1 - 2 * o.labelSmoothing);
  },
  bco_pair: (s, o) => s.chosen.times(o.beta).logSigmoid().plus(s.rejected.times(-o.beta).logSigmoid()).neg(),
  sppo_hard: (s, o) =>
    s.chosen
      .minus(0.5 / o.beta)
      .square()
      .plus(s.rejected.plus(0.5 / o.beta).square()),
  aot: (s, o) => {
    const policy = s.chosenPolicy.minus(s.rejectedPolicy);
    const reference = policy.minus(s.chosen.minus(s.rejected));
    return smoothed(policy.sort().minus(reference.sort()).times(o.beta), o.labelSmoothing);
  },
  aot_unpaired: (s, o) => smoothed(s.chosen.sort().minus(s.rejected.sort()).times(o.beta), o.labelSmoothing),
  apo_zero: (s, o) => s.chosen.times(o.beta).sigmoid().neg().plus(1).plus(s.rejected.times(o.beta).sigmoid()),
  apo_down: (s, o) => {
    const [chosen, rejected] = [s.chosen.times(o.beta), s.rejected.times(o.beta)];
    return chosen.sigmoid().plus(1).minus(chosen.minus(rejected).sigmoid());
  },
  /**
   * arXiv 2406.08414, eq. 4. Its slope at x = 0 is ((1 - ln 2) / tau - 3) / 4: above 0, so the wrong way, where tau is
   * below 0.102.
   */
  discopop: (s, o) => {
    const x = s.score.times(o.beta);
    const gate = x.over(o.discopopTau).sigmoid();
    return x.logSigmoid().neg().times(gate.neg().plus(1)).plus(x.neg().exp().times(gate));
  },
  sigmoid_norm: (s, o) => s.scoreMean.times(o.beta).logSigmoid().neg(),
};

/** Mean over tokens and vocabulary of the logits of either answer. */
export function reportMeanLogits(p: ProgramBuilder, loss: Mask): void {
  const logit = p.engine('meanLogit', loss);
  const chosen = p.mask('chosen', 'S').spread();
  p.mean('logits/chosen', logit, chosen.and(loss));
  p.mean('logits/rejected', logit, chosen.not().and(loss));
}

/** L = sum over pairs of the pair's loss / pairs  (+ w NLL of the better answers / their tokens, RPO). */
export function dpoLoss(
  o: Pick<
    Params,
    'loss' | 'beta' | 'labelSmoothing' | 'discopopTau' | 'sftWeight' | 'beyondShorter' | 'divergence'
  > &
    Partial<Pick<Params, 'reportLogits'>>,
): LossProgram {
  const { p, loss, logp, pair } = pairTerms(o);
  p.loss('preference', PAIR_LOSSES[o.loss](pair, o), p.sequences().over(2));
  if (o.sftWeight > 0) {
    const chosen = p.mask('chosen', 'S').spread().and(loss);
    p.loss('sft', chosen.choose(logp, 0).times(-o.sftWeight), p.atLeastOne(chosen.count()));
  }
  reportPair(p, pair.chosen.times(o.beta), pair.rejected.times(o.beta));
  p.mean('policy/entropy', p.engine('entropy', loss), loss);
  if (o.reportLogits) reportMeanLogits(p, loss);
  return p.build();
}

const LOGIT_METRICS: MetricInfo[] = [
  {
    key: 'logits/chosen',
    label: 'Mean logit of the better answer',
    unit: '',
    help: 'Mean over the vocabulary and the tokens of the better answers, where it is asked for.',
    better: null,
  },
  {
    key: 'logits/rejected',
    label: 'Mean logit of the worse answer',
    unit: '',
    help: 'Mean over the vocabulary and the tokens of the worse answers, where it is asked for.',
    better: null,
  },
];

export const dpo: Algorithm<typeof params> = {
  key: 'dpo',
  label: 'DPO',
  help: 'Learns from pairs of a better and a worse answer: makes the better one likelier than the worse.',
  params,
  needs: (p) => ({ ...ratedNeeds('pairs', p), roles: ['policy', 'reference'] }),
  steps: ratedSteps,
  losses: (p) => ({ policy: dpoLoss(p) }),
  metrics: [...PREFERENCE_METRICS, ENTROPY_METRIC, ...LOGIT_METRICS],
  headline: 'preference/accuracy',
};
