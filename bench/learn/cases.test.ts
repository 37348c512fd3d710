import { expect, test } from 'vitest';
import { ALGORITHMS, fields } from '../../shared/algorithms';
import { CASES } from './cases';

/** Choices that make another algorithm of one; how GSPO and others are normalised has no name of its own. */
const names = (algorithm: string, choice: string) =>
  ['objective', 'loss', 'divergence', 'level'].includes(choice) ||
  (algorithm === 'grpo' && choice === 'normalisation');

const offered = ALGORITHMS.flatMap((algorithm) => [
  { algorithm: algorithm.key, wanted: {} },
  ...fields(algorithm)
    .filter(({ key }) => names(algorithm.key, key))
    .flatMap(({ key, options }) =>
      options!.map(({ value }) => ({ algorithm: algorithm.key, wanted: { [key]: value } })),
    ),
]);

test.each(offered)('npm run learn trains $algorithm $wanted', ({ algorithm, wanted }) => {
  const having = Object.values(CASES).filter((one) => one.algorithm === algorithm);
  const { params: schema } = ALGORITHMS.find(({ key }) => key === algorithm)!;
  const whole = having.map(({ params }) => schema.parse(params));
  expect(whole).toContainEqual(expect.objectContaining(wanted));
});

test('each case’s teacher is a case', () => {
  for (const { taughtBy } of Object.values(CASES))
    if (taughtBy !== undefined) expect(Object.keys(CASES)).toContain(taughtBy);
});
