import { describe, expect, test } from 'vitest';
import jsonCases from './values/json-schema.json';
import mathsCases from './values/math-verify.json';
import trl from './values/trl.json';
import jsonSchema from '../../../resources/rewards/json-schema';
import length from '../../../resources/rewards/length';
import maths from '../../../resources/rewards/maths-accuracy';
import repetition from '../../../resources/rewards/repetition-penalty';
import overlong from '../../../resources/rewards/soft-overlong';
import think from '../../../resources/rewards/think-format';

const tokens = (count: number) => Array.from({ length: count }, (_, k) => k);

describe("as TRL's and Open-R1's own functions", () => {
  test.each(trl.repetition)(
    'repetition of tokens, n $size, penalty $largest',
    ({ tokens: ids, size, largest, reward }) => {
      expect(repetition({ completion: '', tokens: ids }, { size, largest, unit: 'tokens' })).toBeCloseTo(
        reward,
        12,
      );
    },
  );
  test.each(trl.repetition_words)('repetition of words in "$text"', ({ text, size, largest, reward }) => {
    expect(repetition({ completion: text, tokens: null }, { size, largest, unit: 'words' })).toBeCloseTo(
      reward,
      12,
    );
  });
  test.each(trl.overlong)(
    'soft overlong: $length of $longest',
    ({ length: count, longest, margin, reward }) => {
      expect(overlong({ tokens: tokens(count) }, { longest, margin })).toBeCloseTo(reward, 12);
    },
  );
  test.each(trl.think)('think format of "$text"', ({ text, reward }) => {
    expect(think({ completion: text })).toBe(reward);
  });
});

test('answer tags are the whole rest', () => {
  const both = { answerTags: true };
  expect(think({ completion: '<think>a</think>\n<answer>b</answer>\n' }, both)).toBe(1);
  expect(think({ completion: '<think>a</think> b' }, both)).toBe(0);
  expect(think({ completion: '<think>a</think><answer>b</answer> c' }, both)).toBe(0);
});

test('without tokens, what counts tokens has no opinion', () => {
  expect(overlong({ tokens: null })).toBeNull();
  expect(repetition({ completion: 'a a a', tokens: null })).toBeNull();
  expect(length({ completion: 'a', tokens: null }, { wanted: 1, unit: 'tokens' })).toBeNull();
});

describe('JSON schema, as jsonschema', () => {
  const bySchema = new Map<string, { value: unknown; valid: boolean }[]>();
  for (const { schema, value, valid } of jsonCases.cases) {
    const key = JSON.stringify(schema);
    bySchema.set(key, [...(bySchema.get(key) ?? []), { value, valid }]);
  }
  test.each([...bySchema])('%s', (schema, cases) => {
    const settings = { schema, fenced: true, partial: 0.2 };
    for (const { value, valid } of cases) {
      const reward = jsonSchema({ completion: JSON.stringify(value) }, settings);
      expect([value, reward]).toEqual([value, valid ? 1 : 0.2]);
    }
  });

  test('fences come off, other text is no JSON, an unknown keyword is no silence', () => {
    const settings = { schema: '{"type":"object"}', fenced: true, partial: 0.2 };
    expect(jsonSchema({ completion: '```json\n{"a": 1}\n```' }, settings)).toBe(1);
    expect(jsonSchema({ completion: 'Here: {"a": 1}' }, settings)).toBe(0);
    const unknown = { ...settings, schema: '{"format":"email"}' };
    expect(() => jsonSchema({ completion: '{}' }, unknown)).toThrow(/"format" is not supported/);
    expect(() => jsonSchema({ completion: '{}' }, { ...settings, schema: '{"$ref":"http://x"}' })).toThrow(
      /itself/,
    );
  });
});

/** The same value, which math-verify's grammar does not read (TRL asks it for LaTeX that is strictly well formed). */
const READ_BY_US = new Set([
  String.raw`\frac12 for 1/2`,
  String.raw`1\frac12 for 1\frac{1}{2}`,
  String.raw`\sqrt8 for \sqrt{8}`,
  String.raw`2\sqrt2 for \sqrt{8}`,
  String.raw`\frac{\sqrt3}{2} for \frac{\sqrt{3}}{2}`,
  String.raw`42. for 42`,
  String.raw`1 234 567 for 1234567`,
]);

describe('maths accuracy, as math-verify', () => {
  test.each(mathsCases.cases)('$answer for $gold', ({ gold, answer, reward }) => {
    const completion = `So the result is $\\boxed{${answer}}$.`;
    const ours = maths({ completion, answer: gold });
    if (READ_BY_US.has(`${answer} for ${gold}`)) expect([ours, reward]).toEqual([1, 0]);
    else expect(ours).toBe(reward);
  });

  test.each([
    ['The answer is 85', '85', 1],
    ['answer: 85\n', '85', 1],
    ['First 3, then 4, so 7', '7', 1],
    ['First 3, then 4, so 7', '4', 0],
    ['It costs 1,250 dollars', '1250', 1],
    ['The answer is 3 apples out of 10', '3', 1],
    ['<think>maybe \\boxed{1}</think> \\boxed{2}', '2', 1],
    ['<think>it is \\boxed{2}</think> I do not know', '2', 0],
    ['\\boxed{1} no, \\boxed{\\frac{3}{4}}', '0.75', 1],
    ['\\boxed{', '0', 0],
    ['', '0', 0],
    ['nothing', 'nothing', 0],
    ['The answer is yes', 'yes', 1],
    ['\\boxed{1/0}', '5', 0],
    ['\\boxed{((((((1))))))}', '1', 1],
  ])('%j, wanted %s', (completion, answer, reward) => expect(maths({ completion, answer })).toBe(reward));

  test('no answer to compare with is no opinion; a box alone counts where that is asked', () => {
    expect(maths({ completion: '3', answer: null })).toBeNull();
    expect(maths({ completion: '3', answer: ' ' })).toBeNull();
    expect(maths({ completion: 'The answer is 3', answer: '3' }, { boxedOnly: true })).toBe(0);
  });
});
