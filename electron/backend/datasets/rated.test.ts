import { expect, test } from 'vitest';
import { suggestMapping } from '../../../shared/contract/mapping';
import { tinyText } from '../text/testing';
import { ColumnCounter } from './columns';
import { resolveMapping } from './mapping';
import { lines, prepared, type Row } from './testing';

function suggested(...rows: Row[]) {
  const counter = new ColumnCounter();
  for (const row of rows) counter.add(row);
  return { ...suggestMapping(counter.columns()), columns: counter.columns() };
}

const user = (content: string) => ({ role: 'user', content });
const assistant = (content: string) => ({ role: 'assistant', content });

async function learnt(
  text: Awaited<ReturnType<typeof tinyText>>,
  { ids, lossMask }: { ids: Int32Array; lossMask: Uint8Array },
) {
  const pieces = await text.pieces(ids);
  return pieces.filter((_, k) => lossMask[k] === 1).join('');
}

test('pairs are known by their columns, texts or turns', () => {
  expect(suggested({ prompt: 'a', chosen: 'b', rejected: 'c' })).toMatchObject({
    type: 'preference',
    mapping: { prompt: 'prompt', chosen: 'chosen', rejected: 'rejected' },
  });
  const turns = { chosen: [user('a'), assistant('b')], rejected: [user('a'), assistant('c')] };
  expect(suggested(turns)).toMatchObject({
    type: 'preference',
    mapping: { chosen: 'chosen', rejected: 'rejected' },
  });
  expect(suggested({ prompt: 'a', completion: 'b', label: true })).toMatchObject({
    type: 'unpaired-preference',
    mapping: { prompt: 'prompt', completion: 'completion', label: 'label' },
  });
  // a label that is text is an answer, as before
  expect(suggested({ prompt: 'a', label: 'yes' })).toMatchObject({
    type: 'prompt-only',
    mapping: { answer: 'label' },
  });
});

test('a pair: one prompt, two answers, each learnt alone', async () => {
  const text = await tinyText('qwen2_5');
  const both = [
    { prompt: 'Hi', chosen: 'Hello', rejected: 'No' },
    { prompt: [user('Hi')], chosen: [assistant('Hello')], rejected: [assistant('No')] },
    // some sets repeat the prompt in each answer
    {
      prompt: [user('Hi')],
      chosen: [user('Hi'), assistant('Hello')],
      rejected: [user('Hi'), assistant('No')],
    },
  ];
  const turns = { chosen: [user('Hi'), assistant('Hello')], rejected: [user('Hi'), assistant('No')] };
  const mapping = { prompt: 'prompt', chosen: 'chosen', rejected: 'rejected' };
  const { rows } = await prepared('pairs', lines(both), { text, mapping });
  const { rows: implicit } = await prepared('pairs', lines([turns]), {
    text,
    mapping: { chosen: 'chosen', rejected: 'rejected' },
  });
  for (const { chosen, rejected } of [...rows, ...implicit]) {
    expect(await learnt(text, chosen)).toBe('Hello<|im_end|>');
    expect(await learnt(text, rejected)).toBe('No<|im_end|>');
    expect([...chosen.ids]).toEqual([...rows[0]!.chosen.ids]);
  }
});

test('a prompt that an answer repeats is read once, with a system message and without, whatever learns from it', async () => {
  const text = await tinyText('qwen2_5');
  const system = { role: 'system', content: 'Short.' };
  const answers = { chosen: [user('Hi'), assistant('Hello')], rejected: [user('Hi'), assistant('No')] };
  const rows = [
    { prompt: 'Hi', system: 'Short.', chosen: 'Hello', rejected: 'No' },
    { prompt: 'Hi', system: 'Short.', ...answers },
    {
      prompt: 'Hi',
      system: 'Short.',
      chosen: [system, ...answers.chosen],
      rejected: [system, ...answers.rejected],
    },
  ];
  const mapping = {
    prompt: 'prompt',
    completion: 'chosen',
    chosen: 'chosen',
    rejected: 'rejected',
    system: 'system',
  };
  const { rows: pairs } = await prepared('pairs', lines(rows), { text, mapping });
  const { rows: examples } = await prepared('examples', lines(rows), { text, mapping });
  expect(examples).toHaveLength(3);
  for (const { ids } of [...pairs.map(({ chosen }) => chosen), ...examples]) {
    expect([...ids]).toEqual([...examples[0]!.ids]);
  }
  const other = { prompt: 'Hi', chosen: [system, ...answers.chosen], rejected: 'No' };
  const { problems } = await prepared('pairs', lines([other]), { text, mapping });
  expect(problems[0]?.message).toContain('system message that its prompt lacks');
});

test('of a longer conversation only the last answer is compared', async () => {
  const text = await tinyText('qwen2_5');
  const before = [user('Hi'), assistant('Hello'), user('2+2?')];
  const row = { chosen: [...before, assistant('4')], rejected: [...before, assistant('5')] };
  const { rows } = await prepared('pairs', lines([row]), {
    text,
    mapping: { chosen: 'chosen', rejected: 'rejected' },
  });
  expect(await learnt(text, rows[0]!.chosen)).toBe('4<|im_end|>');
  expect(await learnt(text, rows[0]!.rejected)).toBe('5<|im_end|>');
});

test('a rated row is good or bad, and what is neither is left out by line', async () => {
  const text = await tinyText('qwen2_5');
  const labels = [true, 0, 'False', '1', ' 0', 'maybe', null];
  const rows = labels.map((label) => ({ prompt: 'Hi', completion: 'Yo', label }));
  const mapping = { prompt: 'prompt', completion: 'completion', label: 'label' };
  const found = await prepared('rated', lines(rows), { text, mapping });
  expect(found.rows.map(({ line, good }) => [line, good])).toEqual([
    [1, true],
    [2, false],
    [3, false],
    [4, true],
    [5, false],
  ]);
  expect(found.problems).toMatchObject([
    { line: 6, message: '"label" is neither true nor false' },
    { line: 7, message: '"label" is neither true nor false' },
  ]);
});

test('what cannot be a pair says why', async () => {
  const text = await tinyText('qwen2_5');
  const mapping = { chosen: 'chosen', rejected: 'rejected' };
  const { rows, problems } = await prepared(
    'pairs',
    lines([
      { chosen: [user('a'), assistant('b')], rejected: [user('c'), assistant('b')] },
      { chosen: [user('a'), assistant('b')], rejected: [user('a'), user('b')] },
      { chosen: 'a', rejected: 'b' },
    ]),
    { text, mapping },
  );
  expect(rows).toEqual([]);
  expect(problems.map(({ message }) => message)).toEqual([
    '"chosen" and "rejected" have no prompt in common',
    '"rejected" does not end with an answer',
    '"chosen" and "rejected" have no prompt in common',
  ]);
  const data = { name: 'x', ...suggested({ prompt: 'a', completion: 'b' }) };
  expect(() => resolveMapping(data, {}, 'pairs')).toThrow(
    'Which column of "x" is the chosen? None is chosen.',
  );
});

test('a pair of one answer twice is left out and told', async () => {
  const text = await tinyText('qwen2_5');
  const rows = lines([
    { prompt: 'a', chosen: 'b', rejected: 'b' },
    { prompt: 'a', chosen: 'b', rejected: 'c' },
  ]);
  const mapping = { prompt: 'prompt', chosen: 'chosen', rejected: 'rejected' };
  const { rows: kept, problems } = await prepared('pairs', rows, { text, mapping });
  expect(kept.map(({ line }) => line)).toEqual([2]);
  expect(problems).toMatchObject([{ line: 1, reason: 'same-answers' }]);
});
