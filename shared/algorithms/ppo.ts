import { z } from 'zod';
import type { LossProgram, Num } from '../program';
import { ProgramBuilder } from '../program';
import { generalisedAdvantages, penalised, whitened, type KlKind } from './advantages/token-advantages';
import type { Algorithm, Judgement, MetricInfo, Rollouts, Use } from './algorithm';
import { adapterParams, optimizerParams } from './common';
import { field } from './fields';
import { POLICY_METRICS } from './metrics';
import { addEntropy, reportClip, reportRatio, rolloutNeeds, shapedRewards, terms } from './policy-gradient';
import { bufferFits, clipParams, groupsStayWhole, reuseParams, rolloutParams } from './rollout-params';

const params = z
  .strictObject({
    ...rolloutParams({ prompts: 16, groupSize: 1, leastInGroup: 1 }),
    ...optimizerParams({ learningRate: 5e-6, schedule: 'constant', warmup: 0 }),
    ...reuseParams({ minibatches: 1, passes: 2 }),
    criticLearningRate: field(z.number().min(1e-8).max(1).default(1e-5), {
      label: 'Learning rate of the critic',
      help: 'How far each update moves the critic, which learns to foretell the reward. Usually a few times the policy’s.',
      level: 'advanced',
      section: 'Learning',
      logarithmic: true,
    }),
    criticWarmup: field(z.int().min(0).max(10_000).default(0), {
      label: 'Steps of the critic alone',
      help: 'In this many first steps only the critic learns, so that the policy is not led by its first guesses.',
      level: 'advanced',
      section: 'Length of training',
      step: 5,
    }),
    ...clipParams({ low: 0.2, high: 0.2 }),
    dualClip: field(z.number().min(0).max(100).default(3), {
      label: 'Bound for bad answers',
      help: 'A bad answer that has become likelier weighs at most this much (dual clip). 0 turns it off.',
      level: 'advanced',
      section: 'Objective',
      step: 0.5,
    }),
    valueClip: field(z.number().min(0).max(100).default(0.2), {
      label: 'Clip of the critic',
      help: 'How far the critic’s guess may move in a step before it stops counting. 0 turns it off.',
      level: 'advanced',
      section: 'Objective',
      step: 0.05,
    }),
    discount: field(z.number().min(0.5).max(1).default(1), {
      label: 'Discount',
      help: 'How much less a token counts for each token between it and the reward. 1 is usual.',
      level: 'advanced',
      section: 'Objective',
      step: 0.01,
    }),
    lambda: field(z.number().min(0).max(1).default(0.95), {
      label: 'Lambda',
      help: 'Credit by the critic’s guesses at 0, by the reward alone at 1. 0.95 is usual.',
      level: 'advanced',
      section: 'Objective',
      step: 0.01,
    }),
    klWeight: field(z.number().min(0).max(10).default(0.05), {
      label: 'Pull to the base model',
      help: 'Weight of the KL divergence from the base model. 0 turns it off and is faster.',
      level: 'advanced',
      section: 'Objective',
      step: 0.01,
    }),
    klIn: field(z.enum(['reward', 'loss']).default('reward'), {
      label: 'The pull acts',
      help: 'On the reward of each token, so that the critic foresees it; or on the loss itself.',
      when: { key: 'klWeight', above: 0 },
      level: 'advanced',
      section: 'Objective',
      options: { reward: 'On the reward', loss: 'On the loss' },
    }),
    klKind: field(z.enum(['k1', 'abs', 'k2', 'k3']).default('k1'), {
      label: 'Estimate of the KL',
      help: 'How the divergence is estimated from a token: k1 is usual on the reward, k3 on the loss.',
      when: { key: 'klWeight', above: 0 },
      level: 'advanced',
      section: 'Objective',
      options: {
        k1: 'k1: the difference',
        abs: 'Its absolute value',
        k2: 'k2: half its square',
        k3: 'k3: never negative, low variance',
      },
    }),
    ...adapterParams(),
  })
  .refine(groupsStayWhole.check, groupsStayWhole.fault)
  .refine(bufferFits.check, bufferFits.fault)
  .refine((p) => p.dualClip === 0 || p.dualClip > 1, {
    path: ['dualClip'],
    error: 'must be above 1, or 0: a lower bound would stop bad answers before they are unlearnt',
  })
  .refine((p) => p.criticWarmup < p.steps, {
    path: ['criticWarmup'],
    error: 'must be fewer than the steps of the run: the policy would learn nothing',
  });
type Params = z.output<typeof params>;

/** Schulman's estimators of the KL divergence by token, in a program; bounds as verl 0.9.1 kl_penalty. */
const KL: Record<KlKind, (difference: Num) => Num> = {
  k1: (d) => d,
  abs: (d) => d.abs(),
  k2: (d) => d.square().times(0.5),
  k3: (d) => {
    const back = d.neg().clip(-20, 20);
    return back.exp().minus(back).minus(1).clip(-10, 10);
  },
};

/**
 * PPO (arXiv 1707.06347, eq. 7) with dual clip (arXiv 1912.09729), as verl 0.9.1 compute_policy_loss_vanilla with
 * token-mean: the ratio is to the policy before the step.
 */
export function ppoLoss(
  o: Pick<Params, 'clipLow' | 'clipHigh' | 'dualClip' | 'klWeight' | 'klIn' | 'klKind'>,
): LossProgram {
  const t = terms('oldLogp');
  const { p, loss, logp } = t;
  const advantage = p.data('tokenAdvantage', 'T', loss);
  const tokens = p.atLeastOne(loss.count());
  const ratio = t.logRatio.clip(-20, 20).exp();
  const plain = ratio.times(advantage).neg();
  const clipped = ratio
    .clip(1 - o.clipLow, 1 + o.clipHigh)
    .times(advantage)
    .neg();
  const pessimistic = plain.max(clipped);
  const bounded = o.dualClip
    ? advantage.lt(0).choose(pessimistic.min(advantage.times(-o.dualClip)), pessimistic)
    : pessimistic;
  p.loss('policy', loss.choose(bounded, 0), tokens);
  if (o.klWeight > 0) {
    const kl = KL[o.klKind](logp.minus(p.data('refLogp', 'T', loss)));
    if (o.klIn === 'loss') p.loss('kl', loss.choose(kl, 0).times(o.klWeight), tokens);
    p.mean('policy/kl', kl, loss);
  }
  addEntropy(t, 0);
  reportClip(t, ratio, advantage, o);
  reportRatio(t);
  return p.build();
}

/** 0.5 max((V - R)^2, (clip(V, old - c, old + c) - R)^2), a mean over tokens; as verl 0.9.1 compute_value_loss. */
export function criticLoss(o: Pick<Params, 'valueClip'>): LossProgram {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const value = p.engine('value', loss);
  const returns = p.data('returns', 'T', loss);
  let error = value.minus(returns).square();
  if (o.valueClip > 0) {
    const old = p.data('oldValue', 'T', loss);
    const clipped = value.clip(old.minus(o.valueClip), old.plus(o.valueClip)).minus(returns).square();
    p.mean('critic/clipped', clipped.gt(error).number(), loss);
    error = error.max(clipped);
  }
  p.loss('value', loss.choose(error.times(0.5), 0), p.atLeastOne(loss.count()));
  p.mean('critic/value', value, loss);
  p.mean('critic/returns', returns, loss);
  p.mean('critic/error', value.minus(returns).abs(), loss);
  return p.build();
}

/** The reward stands at the last token, less the KL estimate at each; GAE, whitened over the step's learnt tokens. */
function advantages(rollouts: Rollouts, p: Params): Judgement {
  const { truncated, samplerLogp, refLogp, value, length } = rollouts;
  const reward = shapedRewards(rollouts, p);
  const learns = truncated.map((t) => !(t && p.maskTruncated));
  const use: Use[] = reward.map((r, i) => (Number.isNaN(r) ? 'drop' : learns[i] ? 'train' : 'skip'));
  const penalises = p.klWeight > 0 && p.klIn === 'reward';
  const rows = reward.map((r, i) => {
    const atEnd = Array.from({ length: length[i] }, (_, t) =>
      t === length[i] - 1 && use[i] !== 'drop' ? r : 0,
    );
    const byToken = penalises
      ? penalised(atEnd, Array.from(samplerLogp[i]), Array.from(refLogp![i]), p.klWeight, p.klKind)
      : atEnd;
    const row = { reward: byToken, mask: byToken.map(() => 1) };
    return generalisedAdvantages(row, Array.from(value![i]), p.discount, p.lambda);
  });
  const mask = rows.flatMap(({ advantage }, i) => advantage.map(() => (use[i] === 'train' ? 1 : 0)));
  const all = rows.flatMap(({ advantage }) => advantage);
  const learnt = mask.filter((m) => m === 1).length;
  const white = learnt > 1 ? whitened(all, mask) : all.map(() => 0);
  let offset = 0;
  return {
    advantage: rows.map((_, i) => Float32Array.from(white.slice(offset, (offset += length[i])))),
    returns: rows.map(({ returns }) => Float32Array.from(returns)),
    use,
    learns,
    metrics: {},
  };
}

const CRITIC_METRICS: MetricInfo[] = [
  {
    key: 'critic/loss',
    label: 'Loss of the critic',
    unit: '',
    help: 'How far the critic’s guesses are from what came, squared. Falls at first and then follows the policy.',
    better: 'down',
  },
  {
    key: 'critic/error',
    label: 'Error of the critic',
    unit: '',
    help: 'How far the critic’s guess at each token is from the return, on average.',
    better: 'down',
  },
  {
    key: 'critic/value',
    label: 'Value',
    unit: '',
    help: 'The reward that the critic expects, on average over tokens. Follows the returns.',
    better: null,
  },
  {
    key: 'critic/returns',
    label: 'Returns',
    unit: '',
    help: 'What the critic learns to foretell, on average over tokens.',
    better: null,
  },
  {
    key: 'critic/clipped',
    label: 'Critic clipped',
    unit: '%',
    help: 'Tokens at which the critic had already moved as far as one step allows.',
    better: null,
  },
  {
    key: 'critic/grad_norm',
    label: 'Gradient norm of the critic',
    unit: '',
    help: 'Size of the critic’s gradient before clipping.',
    better: null,
  },
];

export const ppo: Algorithm<typeof params> = {
  key: 'ppo',
  label: 'PPO',
  help: 'Reinforcement learning with a critic: a second adapter learns to foretell the reward, and each token is credited with what it changed.',
  params,
  needs: (p) => ({
    ...rolloutNeeds(p),
    roles: p.klWeight > 0 ? ['policy', 'critic', 'reference'] : ['policy', 'critic'],
    judgesReference: p.klWeight > 0 && p.klIn === 'reward',
    critic: { learningRate: p.criticLearningRate, warmupSteps: p.criticWarmup },
  }),
  steps: (p) => p.steps,
  advantages,
  losses: (p) => ({ policy: ppoLoss(p), critic: criticLoss(p) }),
  metrics: [...POLICY_METRICS, ...CRITIC_METRICS],
  headline: 'reward/mean',
};
