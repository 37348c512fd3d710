import { z } from 'zod';
import { ProgramBuilder, type LossProgram, type Num } from '../program';
import { groupRelative } from './advantages/group-advantages';
import { positionsByGroup, present, std } from './advantages/stats';
import type { Algorithm, Judgement, Rollouts, Use } from './algorithm';
import { adapterParams, optimizerParams } from './common';
import { field } from './fields';
import { POLICY_METRICS } from './metrics';

const params = z
  .strictObject({
    steps: field(z.int().min(1).max(100_000).default(250), {
      label: 'Steps',
      help: 'Each step samples answers, rewards them and updates the adapter. You can stop early and keep what was learnt.',
      level: 'simple',
      section: 'Length of training',
      step: 10,
    }),
    prompts: field(z.int().min(1).max(1024).default(4), {
      label: 'Prompts per step',
      help: 'How many different prompts each step looks at. More gives a steadier direction and takes longer.',
      level: 'simple',
      section: 'Rollouts',
      step: 1,
    }),
    groupSize: field(z.int().min(2).max(128).default(8), {
      label: 'Answers per prompt',
      help: 'Answers to the same prompt are compared with each other. At least 4; 8 and more find rare successes.',
      level: 'simple',
      section: 'Rollouts',
      step: 1,
    }),
    maxNewTokens: field(z.int().min(1).max(32_768).default(512), {
      label: 'Longest answer',
      help: 'An answer is cut off after this many tokens.',
      level: 'simple',
      section: 'Rollouts',
      unit: 'tokens',
      step: 16,
    }),
    temperature: field(z.number().min(0.05).max(4).default(1), {
      label: 'Temperature',
      help: 'How freely answers are sampled. 1 is what the method is made for; lower explores less.',
      level: 'advanced',
      section: 'Rollouts',
      step: 0.05,
    }),
    maskTruncated: field(z.boolean().default(true), {
      label: 'Do not learn from cut-off answers',
      help: 'Answers that hit the length limit still count in the comparison, but their tokens are not trained.',
      level: 'advanced',
      section: 'Rollouts',
    }),
    ...optimizerParams({ learningRate: 1e-5, schedule: 'constant', warmup: 0 }),
    minibatches: field(z.int().min(1).max(64).default(1), {
      label: 'Updates per step',
      help: 'Splits the answers of a step into this many updates. More learns faster from the same answers, less exactly.',
      level: 'advanced',
      section: 'Learning',
      step: 1,
    }),
    passes: field(z.int().min(1).max(16).default(1), {
      label: 'Passes over the answers',
      help: 'How often the answers of a step are used before new ones are sampled.',
      level: 'advanced',
      section: 'Learning',
      step: 1,
    }),
    clipLow: field(z.number().min(0.001).max(0.99).default(0.2), {
      label: 'Clip below',
      help: 'A token stops being made less likely once its probability has fallen by this share since it was sampled.',
      level: 'advanced',
      section: 'Objective',
      step: 0.01,
    }),
    clipHigh: field(z.number().min(0.001).max(10).default(0.28), {
      label: 'Clip above',
      help: 'A token stops being made more likely once its probability has risen by this share since it was sampled.',
      level: 'advanced',
      section: 'Objective',
      step: 0.01,
    }),
    normalisation: field(z.enum(['dapo', 'grpo', 'bnpo', 'dr_grpo']).default('dapo'), {
      label: 'Weight of long answers',
      help: 'What the sum over tokens is divided by: it decides how much long and short answers count.',
      level: 'advanced',
      section: 'Objective',
      options: {
        dapo: 'Every token alike (DAPO)',
        grpo: 'Every answer alike (GRPO)',
        bnpo: 'Every token of an update alike (BNPO)',
        dr_grpo: 'By the longest allowed answer (Dr. GRPO)',
      },
    }),
    scale: field(z.enum(['group', 'batch', 'none']).default('group'), {
      label: 'Scale of advantages',
      help: "Advantages are divided by the spread of the prompt's rewards, of the whole step's, or not at all.",
      level: 'advanced',
      section: 'Objective',
      options: { group: "By the prompt's spread", batch: "By the step's spread", none: 'Not scaled' },
    }),
    beta: field(z.number().min(0).max(10).default(0), {
      label: 'Pull to the base model',
      help: 'Weight of the KL divergence from the base model. 0 is usual and faster; 0.01 to 0.1 keeps the text closer.',
      level: 'advanced',
      section: 'Objective',
      step: 0.001,
    }),
    entropyBonus: field(z.number().min(0).max(1).default(0), {
      label: 'Entropy bonus',
      help: 'Rewards uncertainty, against answers becoming all alike. 0 is usual; try 0.001.',
      level: 'advanced',
      section: 'Objective',
      step: 0.001,
    }),
    ...adapterParams(),
  })
  .refine((p) => p.minibatches <= p.prompts, {
    path: ['minibatches'],
    error: 'cannot be more than the prompts of a step: a group stays in one update',
  });
type Params = z.output<typeof params>;

/**
 * Clipped policy gradient on the true ratio to the sampler, per token (DeepSeekMath eq. 3; clip-higher and the
 * token normaliser from DAPO, arXiv 2503.14476; Dr. GRPO arXiv 2503.20783).
 *
 *   L = - sum_t min(r_t A, clip(r_t, 1 - low, 1 + high) A) / N  +  beta sum_t k3_t / N  -  c sum_t H_t / tokens
 */
export function grpoLoss(
  o: Pick<Params, 'clipLow' | 'clipHigh' | 'normalisation' | 'maxNewTokens' | 'beta' | 'entropyBonus'>,
): LossProgram {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const logp = p.engine('logp', loss);
  const logRatio = logp.minus(p.data('samplerLogp', 'T', loss));
  const advantage = p.data('advantage', 'S').spread();
  const ratio = logRatio.exp();
  const gain = ratio.times(advantage).min(ratio.clip(1 - o.clipLow, 1 + o.clipHigh).times(advantage));

  const normalise = (name: string, perToken: Num) => {
    const tokens = loss.choose(perToken, 0);
    const sequences = p.sequences();
    if (o.normalisation === 'grpo') p.loss(name, perToken.segMean(loss), sequences);
    else if (o.normalisation === 'dr_grpo') p.loss(name, tokens, sequences.times(o.maxNewTokens));
    else if (o.normalisation === 'bnpo') p.loss(name, tokens, p.atLeastOne(loss.count()));
    else p.loss(name, tokens, p.atLeastOne(p.data('meanStepTokens', 'scalar')));
  };

  normalise('policy', gain.neg());
  if (o.beta > 0) {
    // k3 of Schulman's note on estimating KL: unbiased and never negative.
    const toReference = p.data('refLogp', 'T', loss).minus(logp);
    const kl = toReference.exp().minus(toReference).minus(1);
    normalise('kl', kl.times(o.beta));
    p.mean('policy/kl', kl, loss);
  }
  const entropy = p.engine('entropy', loss);
  if (o.entropyBonus > 0) p.loss('entropy', entropy.times(-o.entropyBonus), p.atLeastOne(loss.count()));

  p.mean('policy/entropy', entropy, loss);
  p.mean(
    'policy/clip_low',
    ratio
      .lt(1 - o.clipLow)
      .and(advantage.lt(0))
      .number(),
    loss,
  );
  p.mean(
    'policy/clip_high',
    ratio
      .gt(1 + o.clipHigh)
      .and(advantage.gt(0))
      .number(),
    loss,
  );
  p.mean('policy/ratio', ratio, loss);
  p.mean('policy/sampler_mismatch', logRatio.abs(), loss);
  p.mean('policy/off_sampler', ratio.lt(0.9).or(ratio.gt(1.1)).number(), loss);
  return p.build();
}

/** As trl 1.16.0; beyond it, a group with fewer than two rewards is dropped and counted. */
function advantages({ reward, group, truncated }: Rollouts, p: Params): Judgement {
  const values = reward.map((r) => r ?? NaN);
  const advantage = groupRelative({ reward: values, group }, p.scale);
  const learns = truncated.map((t) => !(t && p.maskTruncated));
  const use: Use[] = advantage.map((a, i) =>
    !learns[i] || (a === 0 && p.beta === 0 && p.entropyBonus === 0) ? 'skip' : 'train',
  );
  let live = 0;
  let equal = 0;
  let dropped = 0;
  for (const members of positionsByGroup(group)) {
    const r = present(members.map((i) => values[i]));
    if (r.length < 2) {
      dropped++;
      members.forEach((i) => (use[i] = 'drop'));
      continue;
    }
    live++;
    if (std(r) === 0) equal++;
  }
  return {
    advantage,
    use,
    learns,
    metrics: { 'reward/zero_variance': live === 0 ? NaN : equal / live, 'reward/dropped_groups': dropped },
  };
}

export const grpo: Algorithm<typeof params> = {
  key: 'grpo',
  label: 'GRPO',
  help: 'Reinforcement learning: samples several answers to each prompt, rewards them, and makes the better ones likelier.',
  params,
  needs: (p) => ({
    data: 'rollouts',
    roles: p.beta > 0 ? ['policy', 'reference'] : ['policy'],
    groupSize: p.groupSize,
    prompts: p.prompts,
    minibatches: p.minibatches,
    passes: p.passes,
    temperature: p.temperature,
    maxNewTokens: p.maxNewTokens,
  }),
  steps: (p) => p.steps,
  advantages,
  losses: (p) => ({ policy: grpoLoss(p) }),
  metrics: [
    ...POLICY_METRICS,
    {
      key: 'reward/zero_variance',
      label: 'Groups without contrast',
      unit: '%',
      help: 'Prompts whose answers all got the same reward: nothing can be learnt from them. Much of it means that the task is too easy or too hard.',
      better: 'down',
    },
    {
      key: 'reward/dropped_groups',
      label: 'Groups left out',
      unit: '',
      help: 'Prompts with fewer than two rewarded answers, because the reward failed or abstained.',
      better: 'down',
    },
  ],
  headline: 'reward/mean',
};
