import { expect, it } from 'vitest';
import type { Engine, OptimizerId, StepRequest } from '../../../native/face';
import { algorithmByKey, type CommonParams } from '../../../shared/algorithms';
import type { TrainRow } from './batch';
import type { TrainJob } from './job';
import { learn } from './learn';
import { ProgressMeter } from './progress';
import { timed } from './timeline';

const row = (group: number, completion: number): TrainRow => ({
  ids: new Int32Array(completion + 1),
  group,
  use: 'train',
  loss: new Uint8Array(completion).fill(1),
  values: { advantage: 1, samplerLogp: new Float32Array(completion) },
});

it('divides by the tokens of the updates that are made, where groups were left out', async () => {
  const requests: StepRequest[] = [];
  const engine = {
    step: (request: StepRequest) => {
      requests.push(request);
      const result = {
        loss: 0,
        metrics: {},
        gradNorm: 0,
        updated: true,
        seconds: 1,
        tokens: 1,
        peakBytes: 0,
        gradientPeakBytes: 0,
      };
      return Promise.resolve(result);
    },
  } as unknown as Engine;
  const grpo = algorithmByKey('grpo')!;
  const params = grpo.params.parse({ minibatches: 4, prompts: 4 }) as CommonParams & Record<string, unknown>;
  const job = { engine, params, config: { seed: 0 }, microTokens: 64 } as unknown as TrainJob;
  // two of four groups had no rewards to compare
  const rows = [row(0, 3), row(0, 5), row(2, 4)];
  const meter = new ProgressMeter(10, () => undefined);
  const { policy } = grpo.losses(params);
  const trained = { program: policy, optimizer: 1 as OptimizerId, learningRate: 1 };
  await learn(timed(job), grpo.needs(params), trained, 1, 10, rows, meter);
  expect(requests.map(({ inputs }) => inputs['meanStepTokens']![0])).toEqual([6, 6]);
});
