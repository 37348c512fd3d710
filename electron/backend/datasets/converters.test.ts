import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fitsOf, suggestMapping } from '../../../shared/contract/mapping';
import { tinyText } from '../text/testing';
import { ColumnCounter } from './columns';
import { RowFile } from './row-file';
import { lines, pieces, prepared, type Row } from './testing';

function suggested(...rows: Row[]) {
  const counter = new ColumnCounter();
  for (const row of rows) counter.add(row);
  return suggestMapping(counter.columns());
}

const said = (from: string, value: string) => ({ from, value });

test.each<[string, Row, string, string[]]>([
  [
    'ShareGPT',
    { conversations: [said('human', 'a'), said('gpt', 'b')] },
    'sharegpt',
    ['rollouts', 'examples'],
  ],
  ['Alpaca', { instruction: 'a', input: '', output: 'b' }, 'alpaca', ['rollouts', 'examples']],
  [
    'pairs of Alpaca',
    { instruction: 'a', input: 'x', chosen: 'b', rejected: 'c' },
    'preference',
    ['rollouts', 'examples', 'pairs'],
  ],
  [
    'pairs of ShareGPT',
    { conversations: [said('human', 'a')], chosen: said('gpt', 'b'), rejected: said('gpt', 'c') },
    'preference',
    ['rollouts', 'examples', 'pairs'],
  ],
  [
    'ratings as text, as CSV has them',
    { prompt: 'a', completion: 'b', label: 'True' },
    'unpaired-preference',
    ['rollouts', 'examples', 'rated'],
  ],
])('%s is known and fits what it can serve', (_, row, type, fits) => {
  const found = suggested(row);
  expect(found.type).toBe(type);
  expect(fitsOf(found.mapping)).toEqual(fits);
});

test('each shape gives the tokens of the plain one, for SFT, DPO and GRPO', async () => {
  const text = await tinyText('qwen2_5');
  const plain = { prompt: 'Add\n\n2 and 2', completion: '4', chosen: '4', rejected: '5' };
  const shapes: Row[] = [
    plain,
    { instruction: 'Add', input: '2 and 2', output: '4', chosen: '4', rejected: '5' },
    {
      conversations: [said('human', 'Add\n\n2 and 2')],
      chosen: said('gpt', '4'),
      rejected: said('gpt', '5'),
    },
  ];
  const ids = async (kind: 'examples' | 'rollouts', row: Row) => {
    const { rows } = await prepared(kind, lines([row]), { text, mapping: suggested(row).mapping });
    return [...rows[0]!.ids];
  };
  for (const shape of shapes) {
    expect(await ids('examples', shape)).toEqual(await ids('examples', plain));
    expect(await ids('rollouts', shape)).toEqual(await ids('rollouts', plain));
    const { rows } = await prepared('pairs', lines([shape]), { text, mapping: suggested(shape).mapping });
    expect(await pieces(text, rows[0]!.rejected.ids)).toContain(
      '2 and 2<|im_end|>\n<|im_start|>assistant\n5<|im_end|>',
    );
  }
  const transcript = { chosen: '\n\nHuman: a\n\nAssistant: b', rejected: '\n\nHuman: a\n\nAssistant: c' };
  const { rows } = await prepared('pairs', lines([transcript]), {
    text,
    mapping: suggested(transcript).mapping,
  });
  expect(await pieces(text, rows[0]!.chosen.ids)).toMatch(
    /user\na<\|im_end\|>\n<\|im_start\|>assistant\nb<\|im_end\|>\n$/,
  );
});

// AReno's rows (conformance item 16): what it drops is dropped; where ours differs, the comment says why
test('rows without an answer, too long ones and repeated ones are counted by reason', async () => {
  const text = await tinyText(null);
  const mapping = { prompt: 'prompt', completion: 'response' };
  const rows = [
    { prompt: 'q', response: 'a' },
    { prompt: 'q', response: '' },
    { prompt: 'q', response: null },
    { prompt: 'q' },
    { prompt: 'q'.repeat(60), response: 'a' },
    { prompt: 'q', response: 'a' },
  ];
  const found = await prepared('examples', lines(rows), {
    text,
    mapping,
    maxTokens: 24,
    dropDuplicates: true,
  });
  // "q" and "a", then EOS: the prompt is not learnt, answer and EOS are
  const [row] = found.rows;
  expect(row!.lossMask.slice(-2)).toEqual(Uint8Array.of(1, 1));
  expect(row!.lossMask[0]).toBe(0);
  expect(found.rows).toHaveLength(1);
  // one budget for the whole row, not one each for prompt and response: it is what memory depends on
  expect(found.problems.map(({ line, reason }) => [line, reason])).toEqual([
    [2, 'empty'],
    [3, 'missing'],
    [4, 'missing'],
    [5, 'too-long'],
    [6, 'duplicate'],
  ]);
});

test('prepared rows in a file are the rows, and leave no name behind', () => {
  const folder = mkdtempSync(join(tmpdir(), 'atelier-rows-'));
  const file = new RowFile<{ line: number; ids: Int32Array; text: string }>(folder);
  const row = (k: number) => ({ line: k, ids: Int32Array.of(k, -k), text: 'é'.repeat(k % 700) });
  for (let k = 0; k < 5000; k++) file.push(row(k));
  expect(readdirSync(folder)).toEqual([]);
  expect(file.length).toBe(5000);
  for (const k of [0, 4999, 2500, 1]) expect(file.at(k)).toEqual(row(k));
  expect(file.at(5000)).toBeUndefined();
  file.close();
});
