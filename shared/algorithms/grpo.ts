import { z } from 'zod';
import type { LossProgram, Num } from '../program';
import { groupRelative } from './advantages/group-advantages';
import type { Algorithm, Judgement, Rollouts } from './algorithm';
import { adapterParams, optimizerParams } from './common';
import { field } from './fields';
import { GROUP_METRICS, POLICY_METRICS } from './metrics';
import {
  addEntropy,
  addNormalised,
  judgeGroups,
  klToReference,
  reportClip,
  reportRatio,
  rolloutNeeds,
  shapedRewards,
  terms,
  type Terms,
} from './policy-gradient';
import {
  bufferFits,
  clipParams,
  groupsStayWhole,
  normalisationParam,
  regularisationParams,
  reuseParams,
  rolloutParams,
  scaleParam,
} from './rollout-params';

const params = z
  .strictObject({
    ...rolloutParams({ groupSize: 8, leastInGroup: 2 }),
    resample: field(z.int().min(0).max(16).default(0), {
      label: 'Rounds of new prompts',
      help: 'While prompts whose answers all got the same reward leave a step short, this many more rounds of prompts are tried (dynamic sampling).',
      level: 'advanced',
      section: 'Rollouts',
      step: 1,
    }),
    ...optimizerParams({ learningRate: 1e-5, schedule: 'constant', warmup: 0 }),
    ...reuseParams({ minibatches: 1 }),
    objective: field(z.enum(['clip', 'cispo', 'sapo', 'vespo']).default('clip'), {
      label: 'Objective',
      help: 'How far a token may move before it stops counting: cut off at a bound, weighted by the bounded ratio, or faded out smoothly.',
      level: 'advanced',
      section: 'Objective',
      options: {
        clip: 'Clipped ratio (PPO, GRPO, DAPO)',
        cispo: 'Bounded weight, no cut-off (CISPO)',
        sapo: 'Soft gate (SAPO)',
        vespo: 'Weight of the whole answer (VESPO)',
      },
    }),
    ...clipParams(
      { low: 0.2, high: 0.28 },
      { low: { key: 'objective', is: 'clip' }, high: { key: 'objective', is: ['clip', 'cispo'] } },
    ),
    ratioCap: field(z.number().min(0).max(100).default(0), {
      label: 'Largest ratio',
      help: 'Bounds the ratio also where a bad answer has become likelier (two-sided clipping). 0 turns it off.',
      when: { key: 'objective', is: 'clip' },
      level: 'advanced',
      section: 'Objective',
      step: 0.1,
    }),
    ...normalisationParam('dapo'),
    ...scaleParam(),
    ...regularisationParams(),
    biasCorrectedKl: field(z.boolean().default(false), {
      label: 'Weight the KL by the ratio',
      help: 'Keeps the KL term unbiased where one step makes several updates.',
      level: 'advanced',
      section: 'Objective',
    }),
    entropyShare: field(z.number().min(0.01).max(1).default(1), {
      label: 'Share of uncertain tokens learnt',
      help: 'Learns only from this share of tokens, those with the highest entropy. 1 learns from all; 0.2 is usual otherwise.',
      level: 'advanced',
      section: 'Objective',
      step: 0.05,
    }),
    correction: field(z.enum(['sampler', 'truncated', 'masked']).default('sampler'), {
      label: 'Ratio is taken to',
      help: 'The sampler itself, exactly; or the policy before the update, with a bounded weight for its difference to the sampler, which wants one more forward.',
      level: 'advanced',
      section: 'Objective',
      options: {
        sampler: 'The sampler',
        truncated: 'The old policy, weight cut at 2',
        masked: 'The old policy, tokens above 2 left out',
      },
    }),
    ...adapterParams(),
  })
  .refine(groupsStayWhole.check, groupsStayWhole.fault)
  .refine(bufferFits.check, bufferFits.fault)
  .refine((p) => p.ratioCap === 0 || p.ratioCap > 1 + p.clipHigh, {
    path: ['ratioCap'],
    error: 'must be above 1 + Clip above, or 0: a lower bound would stop good answers too early',
  });
type Params = z.output<typeof params>;

/** Bound of the weight for the difference between old policy and sampler (Yao et al. 2025). */
const CORRECTION_CAP = 2;
/** SAPO's temperatures for gains and losses (arXiv 2511.20347; trl 1.16.0's defaults). */
const SAPO = { gain: 1, loss: 1.05 };
/** VESPO's shape for gains and losses (trl 1.16.0's defaults). */
const VESPO = { gain: { k: 2, lambda: 3 }, loss: { k: 3, lambda: 2 } };

type Objective = Pick<
  Params,
  'clipLow' | 'clipHigh' | 'normalisation' | 'maxNewTokens' | 'beta' | 'entropyBonus'
> &
  Partial<Pick<Params, 'objective' | 'ratioCap' | 'biasCorrectedKl' | 'entropyShare' | 'correction'>>;

/** Gain by token, before regularisation and normaliser. */
const GAINS: Record<Params['objective'], (t: Terms, advantage: Num, o: Objective) => Num> = {
  clip: (t, advantage, o) => {
    const ratio = t.logRatio.exp();
    const bounded = o.ratioCap ? ratio.min(o.ratioCap) : ratio;
    reportClip(t, bounded, advantage, o);
    return bounded.times(advantage).min(ratio.clip(1 - o.clipLow, 1 + o.clipHigh).times(advantage));
  },
  /** MiniMax-M1, arXiv 2506.13585, eq. 4: the bounded ratio is a weight without gradient. */
  cispo: (t, advantage, o) => {
    const ratio = t.logRatio.exp();
    reportClip(t, ratio, advantage, o);
    return ratio
      .min(1 + o.clipHigh)
      .stopGradient()
      .times(advantage)
      .times(t.logp);
  },
  sapo: (t, advantage) => {
    const temperature = advantage.gt(0).choose(SAPO.gain, SAPO.loss);
    return temperature.times(t.logRatio.exp().minus(1)).sigmoid().times(4).over(temperature).times(advantage);
  },
  vespo: (t, advantage) => {
    const logWeight = t.logRatio.clip(-20, 20).segSum().clip(Math.log(1e-8), 20).spread();
    const gain = advantage.ge(0);
    const k = gain.choose(VESPO.gain.k, VESPO.loss.k);
    const lambda = gain.choose(VESPO.gain.lambda, VESPO.loss.lambda);
    const phi = lambda.plus(k.times(logWeight)).minus(lambda.times(logWeight.exp())).exp();
    return phi.stopGradient().times(advantage).times(t.logp);
  },
};

/**
 * Policy gradient on the true ratio to the sampler, per token (DeepSeekMath eq. 3; clip-higher and the token
 * normaliser from DAPO, arXiv 2503.14476; Dr. GRPO arXiv 2503.20783).
 *
 *   L = - sum_t min(r_t A, clip(r_t, 1 - low, 1 + high) A) / N  +  beta sum_t k3_t / N  -  c sum_t H_t / tokens
 */
export function grpoLoss({
  objective = 'clip',
  entropyShare = 1,
  correction = 'sampler',
  ...o
}: Objective): LossProgram {
  const t = terms(correction === 'sampler' ? 'samplerLogp' : 'oldLogp');
  const { p, loss } = t;
  const advantage = p.data('advantage', 'S').spread();
  let value = GAINS[objective](t, advantage, o).neg();
  const entropy = addEntropy(t, o.entropyBonus);
  if (entropyShare < 1) {
    const threshold = entropy.stopGradient().quantile(loss, 1 - entropyShare);
    value = entropy.ge(threshold).choose(value, 0);
  }
  if (correction !== 'sampler') {
    const weight = p
      .data('oldLogp', 'T', loss)
      .minus(p.data('samplerLogp', 'T', loss))
      .exp();
    const inside = weight.le(CORRECTION_CAP);
    value = value.times(inside.choose(weight, correction === 'masked' ? 0 : CORRECTION_CAP));
  }
  addNormalised(t, o, 'policy', value);
  if (o.beta > 0) addNormalised(t, o, 'kl', klToReference(t, o.biasCorrectedKl).times(o.beta));
  reportRatio(t);
  return p.build();
}

/** As trl 1.16.0; beyond it, a group with fewer than two rewards is dropped and counted. */
function advantages(rollouts: Rollouts, p: Params): Judgement {
  const reward = shapedRewards(rollouts, p);
  return judgeGroups(reward, rollouts, groupRelative({ reward, group: rollouts.group }, p.scale), {
    maskTruncated: p.maskTruncated,
    alwaysForward: p.beta > 0 || p.entropyBonus > 0,
    interacts: p.entropyShare < 1,
  });
}

export const grpo: Algorithm<typeof params> = {
  key: 'grpo',
  label: 'GRPO',
  help: 'Reinforcement learning: samples several answers to each prompt, rewards them, and makes the better ones likelier.',
  params,
  needs: (p) => ({
    ...rolloutNeeds(p),
    roles: p.beta > 0 ? ['policy', 'reference'] : ['policy'],
    resample: p.resample,
  }),
  steps: (p) => p.steps,
  advantages,
  losses: (p) => ({ policy: grpoLoss(p) }),
  metrics: [
    ...POLICY_METRICS,
    ...GROUP_METRICS,
    {
      key: 'rollout/sampled_groups',
      label: 'Prompts sampled',
      unit: '',
      help: 'With rounds of new prompts: how many prompts it took to find enough whose answers differ in reward. Reward, length and the like are of all of them.',
      better: 'down',
    },
  ],
  headline: 'reward/mean',
};
