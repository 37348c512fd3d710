import { expect, it } from 'vitest';
import { statusLine } from './terminal-run';

it('shows all steps as done while the run is finishing', () => {
  const line = statusLine(
    {
      kind: 'progress',
      phase: 'finishing',
      step: 3,
      steps: 3,
      done: 0,
      total: 1,
      tokensPerSecond: null,
      etaSeconds: null,
    },
    'reward/mean',
    {},
  );
  expect(line).toMatch(/^█+ {2}step 3\/3 {2}finishing/);
});

it('leaves out a headline that has no value, such as the mean over no answers', () => {
  const line = statusLine(
    {
      kind: 'progress',
      phase: 'train',
      step: 1,
      steps: 3,
      done: 0,
      total: 1,
      tokensPerSecond: null,
      etaSeconds: null,
    },
    'preference/chosen',
    { 'preference/chosen': NaN },
  );
  expect(line).not.toContain('NaN');
});
