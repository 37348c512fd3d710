import { z } from 'zod';
import { ProgramBuilder, type LossProgram } from '../program';
import type { Algorithm } from './algorithm';
import { adapterParams, optimizerParams } from './common';
import { field } from './fields';
import { PREFERENCE_METRICS, ratedNeeds, ratedParams, ratedSteps, reportPair } from './preference';

const params = z.strictObject({
  ...ratedParams('pairs', { batchSize: 16 }),
  ...optimizerParams({ learningRate: 1e-4, schedule: 'linear', warmup: 0.1 }),
  centre: field(z.number().min(0).max(10).default(0.01), {
    label: 'Pull of scores to 0',
    help: 'Keeps the scores of a pair around 0, so that they can be compared between prompts. 0 turns it off.',
    level: 'advanced',
    section: 'Objective',
    step: 0.01,
  }),
  ...adapterParams(),
});
type Params = z.output<typeof params>;

/** Bradley-Terry on pairs with a term that centres the scores (arXiv 2312.09244), as trl 1.16.0 RewardTrainer. */
export function rewardModelLoss(o: Pick<Params, 'centre'>): LossProgram {
  const p = new ProgramBuilder();
  const score = p.engine('score');
  const [chosen, rejected] = [score.part(0, 2), score.part(1, 2)];
  const pairs = p.sequences().over(2);
  p.loss('pairs', chosen.minus(rejected).logSigmoid().neg(), pairs);
  if (o.centre > 0) p.loss('centre', chosen.plus(rejected).square().times(o.centre), pairs);
  reportPair(p, chosen, rejected);
  return p.build();
}

export const rewardModel: Algorithm<typeof params> = {
  key: 'reward_model',
  label: 'Reward model',
  help: 'Learns to score answers from pairs of a better and a worse one. What comes out can be the reward of another run.',
  params,
  needs: (p) => ({ ...ratedNeeds('pairs', p), roles: ['policy'], scalarHead: true }),
  steps: ratedSteps,
  losses: (p) => ({ policy: rewardModelLoss(p) }),
  metrics: PREFERENCE_METRICS,
  headline: 'preference/accuracy',
};
