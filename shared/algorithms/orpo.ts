import { z } from 'zod';
import { ProgramBuilder, type LossProgram } from '../program';
import type { Algorithm } from './algorithm';
import { adapterParams, optimizerParams } from './common';
import { ENTROPY_METRIC } from './metrics';
import {
  betaParam,
  nll,
  PREFERENCE_METRICS,
  ratedNeeds,
  ratedParams,
  ratedSteps,
  reportPair,
} from './preference';

const params = z.strictObject({
  ...ratedParams('pairs', { batchSize: 16 }),
  ...betaParam(0.1, 'Weight of telling the answers apart beside learning the better one. 0.1 is usual.'),
  ...optimizerParams({ learningRate: 8e-5, schedule: 'linear', warmup: 0.1 }),
  ...adapterParams(),
});
type Params = z.output<typeof params>;

/**
 * ORPO (arXiv 2403.07691, eq. 6 and 7) as trl 1.16.0: NLL over prompt and answer of the better rows, and the log of
 * the odds ratio of mean token probabilities.
 */
export function orpoLoss(o: Pick<Params, 'beta'>): LossProgram {
  const p = new ProgramBuilder();
  const loss = p.mask('loss', 'T');
  const mean = p.engine('logp', loss).segMean(loss);
  const odds = mean.minus(mean.log1mexp());
  const logOdds = odds.part(0, 2).minus(odds.part(1, 2));
  const likelihood = p.mask('chosenTokens', 'T');
  p.loss('nll', nll(p, likelihood), p.atLeastOne(likelihood.count()));
  p.loss('odds', logOdds.logSigmoid().times(-o.beta), p.sequences().over(2));
  reportPair(p, mean.part(0, 2).times(o.beta), mean.part(1, 2).times(o.beta));
  p.mean('train/nll', nll(p, likelihood), likelihood);
  p.mean('policy/entropy', p.engine('entropy', loss), loss);
  return p.build();
}

export const orpo: Algorithm<typeof params> = {
  key: 'orpo',
  label: 'ORPO',
  help: 'Learns the better answers of pairs and tells them from the worse in one go, without a reference model.',
  params,
  needs: (p) => ({ ...ratedNeeds('pairs', p), roles: ['policy'] }),
  steps: ratedSteps,
  losses: (p) => ({ policy: orpoLoss(p) }),
  metrics: [
    ...PREFERENCE_METRICS,
    {
      key: 'train/nll',
      label: 'Loss per token',
      unit: 'nats',
      help: 'How surprised the model is by the better rows, on average. It should fall and level off.',
      better: 'down',
    },
    ENTROPY_METRIC,
  ],
  headline: 'preference/accuracy',
};
