import { expect, it } from 'vitest';
import type { Progress } from '../../../shared/contract/runs';
import { ProgressMeter } from './progress';

it('no step is left to wait for once the run is finishing', () => {
  const told: Progress[] = [];
  const meter = new ProgressMeter(3, (progress) => told.push(progress));
  meter.stepTook(35, 20);
  meter.phase('train', 3, 0, 1);
  meter.phase('finishing', 3, 0, 1);
  expect(told.map(({ etaSeconds }) => etaSeconds)).toEqual([35, 0]);
});
