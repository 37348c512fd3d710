import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { Roots } from '../places';
import { tinyText } from '../text/testing';
import { pieces, prepared } from './testing';
import { DatasetRegistry } from './registry';

let base: string;
let registry: DatasetRegistry;
const make = () =>
  new DatasetRegistry({ home: join(base, 'home'), bundled: join(base, 'bundled'), roots: new Roots(null) });

async function file(name: string, lines: unknown[] | string): Promise<string> {
  const path = join(base, name);
  await writeFile(
    path,
    typeof lines === 'string' ? lines : lines.map((line) => JSON.stringify(line)).join('\n'),
  );
  return path;
}

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'atelier-data-'));
  await mkdir(join(base, 'bundled'));
  registry = make();
});

describe('what a file holds', () => {
  test('numbers that JavaScript would round or lose are kept as they are written', async () => {
    const text = [
      '{"question": "9007199254740993 - 0", "answer": 9007199254740993, "size": 1e400, "part": 0.1234567890123456789}',
      '{"question": "say \\"12345678901234567890\\"", "answer": -12, "size": 1e20}',
    ].join('\n');
    await registry.add({ path: await file('big.jsonl', text) });
    const { rows } = await registry.rows({ id: 'big', offset: 0, limit: 9 });
    expect(rows.map(({ row }) => row)).toEqual([
      {
        question: '9007199254740993 - 0',
        answer: '9007199254740993',
        size: '1e400',
        part: 0.12345678901234568,
      },
      { question: 'say "12345678901234567890"', answer: -12, size: 1e20 },
    ]);
  });

  test('data can be read where nothing more can be written', async () => {
    await registry.add({ path: await file('sums.jsonl', [{ question: '1+1' }]) });
    await rm(join(base, 'home', 'datasets'), { recursive: true });
    await writeFile(join(base, 'home', 'datasets'), 'in the way');
    expect(await make().list()).toMatchObject([{ id: 'sums', state: 'ready', rows: 1 }]);
  });

  test('what is no rows says how they are written', async () => {
    const path = await file('pretty.jsonl', JSON.stringify([{ question: '1+1' }], null, 2));
    await expect(registry.add({ path })).rejects.toMatchObject({
      message: expect.stringContaining('line 1'),
      hint: expect.stringContaining('one JSON object'),
    });
  });

  test('columns, types, mapping, and problems by line', async () => {
    const text = [
      '\uFEFF{"question": "1+1", "answer": 2, "level": "easy"}',
      '',
      '{"question": "2+2", "answer": "4", "extra": [1]}\r',
      'not json',
      '[1, 2]',
      '{"question": "", "answer": null}',
    ].join('\n');
    const dataset = await registry.add({ path: await file('sums.jsonl', text) });
    expect(dataset).toMatchObject({
      id: 'sums',
      source: 'added',
      state: 'ready',
      rows: 3,
      type: 'prompt-only',
      mapping: { prompt: 'question', answer: 'answer' },
      problems: { count: 2, first: [{ line: 4 }, { line: 5 }] },
    });
    expect(dataset.columns.map(({ name, type }) => [name, type])).toEqual([
      ['question', 'string'],
      ['answer', 'mixed'],
      ['level', 'string'],
      ['extra', 'array'],
    ]);
    expect(dataset.columns[0]!.filled).toBeCloseTo(2 / 3);
    const { total, rows } = await registry.rows({ id: 'sums', offset: 1, limit: 50 });
    expect(total).toBe(3);
    expect(rows.map(({ line }) => line)).toEqual([3, 6]);
  });

  test.each([
    [[{ messages: [{ role: 'user', content: 'hi' }] }], 'messages', { messages: 'messages' }],
    [[{ prompt: 'a', completion: 'b' }], 'prompt-completion', { prompt: 'prompt', completion: 'completion' }],
    [[{ Question: 'a', Answer: 'b' }], 'prompt-only', { prompt: 'Question', answer: 'Answer' }],
    [[{ text: 'a' }], 'text', { completion: 'text' }],
    [[{ a: 1 }], 'unknown', {}],
  ])('%j is %s', async (rows, type, mapping) => {
    const dataset = await registry.add({ path: await file('x.jsonl', rows) });
    expect(dataset).toMatchObject({ type, mapping: mapping });
  });

  test('a person’s choice of columns is kept, makes another kind of data of it, and can be taken back', async () => {
    const rows = [{ q: 'two and two', good: 'four', bad: 'five', answer: '4' }];
    const { id, ...guessed } = await registry.add({ path: await file('own.jsonl', rows) });
    expect(guessed).toMatchObject({ type: 'unknown', fits: [], mappedBy: 'guess' });
    const mapping = { prompt: 'q', completion: 'good', chosen: 'good', rejected: 'bad', answer: 'answer' };
    expect(await registry.setMapping({ id, mapping })).toMatchObject({
      mapping,
      mappedBy: 'person',
      type: 'preference',
      fits: ['rollouts', 'examples', 'pairs'],
    });
    const [dataset] = await make().list();
    expect(dataset).toMatchObject({ mapping, mappedBy: 'person' });
    await expect(registry.setMapping({ id, mapping: { prompt: 'absent' } })).rejects.toMatchObject({
      message: expect.stringContaining('no column "absent"'),
    });
    expect(await registry.setMapping({ id, mapping: null })).toMatchObject({
      mappedBy: 'guess',
      type: 'unknown',
    });
  });

  test('a choice of columns that are gone is not used, and says so', async () => {
    const path = await file('gone.jsonl', [{ q: 'a', prompt: 'b' }]);
    const { id } = await registry.add({ path });
    await registry.setMapping({ id, mapping: { prompt: 'q' } });
    await file('gone.jsonl', [{ prompt: 'another row' }]);
    expect(await registry.get(id)).toMatchObject({
      mapping: { prompt: 'prompt' },
      mappedBy: 'guess',
      notes: [expect.stringContaining('"q" is not there any more')],
    });
  });

  test.each([
    ['empty.jsonl', '', /has no row: the file is empty/],
    ['bad.jsonl', 'nothing\nhere', /no usable row: line 1: not JSON/],
    ['rows.csv', 'a,b', /has no row/],
    ['rows.txt', 'a', /not a data file that can be read/],
  ])('%s is refused with its reason', async (name, text, reason) => {
    await expect(registry.add({ path: await file(name, text) })).rejects.toThrow(reason);
    expect(await registry.list()).toEqual([]);
  });

  test('any page of a long file, without reading what stands before it', async () => {
    const rows = Array.from({ length: 5000 }, (_, index) => ({
      prompt: `row ${index} ${'é'.repeat(index % 97)}`,
    }));
    const { id } = await registry.add({ path: await file('long.jsonl', rows) });
    for (const offset of [0, 127, 128, 4999, 2500]) {
      const page = await registry.rows({ id, offset, limit: 3 });
      expect(page.rows[0]).toEqual({ line: offset + 1, row: rows[offset] });
    }
    expect((await registry.rows({ id, offset: 5000, limit: 3 })).rows).toEqual([]);
  });

  test('a changed file is read again; a missing one is offline, not gone', async () => {
    const path = await file('x.jsonl', [{ prompt: 'a' }]);
    const { id } = await registry.add({ path });
    await file('x.jsonl', [{ prompt: 'a' }, { prompt: 'b' }]);
    await utimes(path, new Date(), new Date(Date.now() + 5000));
    expect((await make().get(id)).rows).toBe(2);
    await rm(path);
    expect(await make().list()).toMatchObject([{ id, state: 'offline' }]);
    await expect(registry.rows({ id, offset: 0, limit: 1 })).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('rows for a run', () => {
  test('a column that is not there is named, with those that are', async () => {
    const { id } = await registry.add({ path: await file('x.jsonl', [{ question: 'a', level: 1 }]) });
    await expect(registry.open(id, { prompt: 'prompt' }, 'rollouts')).rejects.toMatchObject({
      code: 'invalid_data',
      message: 'The data set "x" has no column "prompt" (chosen as prompt).',
      hint: 'Its columns: question, level.',
      details: { path: 'data.mapping.prompt' },
    });
    await expect(registry.open(id, {}, 'examples')).rejects.toThrow(/is the completion\? None is chosen/);
    expect((await registry.open(id, {}, 'rollouts')).mapping).toEqual({ prompt: 'question' });
  });

  test('prompts with their answers; what cannot be one is left out by line', async () => {
    const text = await tinyText('qwen2_5');
    const path = await file('x.jsonl', [
      { q: 'Hi', a: 7 },
      { q: null, a: 1 },
      { q: 'x'.repeat(400), a: 'b' },
      { q: 'Yo', s: 'Be brief.' },
    ]);
    const { id } = await registry.add({ path });
    const { rows, mapping } = await registry.open(id, { prompt: 'q', answer: 'a', system: 's' }, 'rollouts');
    const found = await prepared('rollouts', rows, { text, mapping, maxTokens: 150 });
    expect(found.rows.map(({ line, answer }) => [line, answer])).toEqual([
      [1, '7'],
      [4, null],
    ]);
    expect(found.rows[0]!.text).toBe('Hi');
    expect(await pieces(text, found.rows[1]!.ids)).toContain('Be brief.');
    expect(await pieces(text, found.rows[0]!.ids)).toMatch(/<\|im_start\|>assistant\n$/);
    expect(found.problems).toMatchObject([
      { line: 2, message: '"q" holds no text' },
      { line: 3, message: expect.stringMatching(/more than the limit of 150/) as string },
    ]);
  });

  test('conversations, also with the names of ShareGPT', async () => {
    const text = await tinyText('qwen2_5');
    const conversations = [
      { from: 'human', value: 'Hi' },
      { from: 'gpt', value: 'Hello' },
    ];
    const { id } = await registry.add({
      path: await file('x.jsonl', [{ conversations }, { conversations: [] }]),
    });
    const learnt = await registry.open(id, {}, 'examples');
    const examples = await prepared('examples', learnt.rows, { text, mapping: learnt.mapping });
    expect(await pieces(text, examples.rows[0]!.ids)).toContain('<|im_start|>assistant\nHello<|im_end|>');
    expect(examples.problems).toMatchObject([{ line: 2 }]);
    const asked = await registry.open(id, {}, 'rollouts');
    const prompts = await prepared('rollouts', asked.rows, { text, mapping: asked.mapping });
    expect(await pieces(text, prompts.rows[0]!.ids)).not.toContain('Hello<');
  });

  test('the preview is what the model sees', async () => {
    const text = await tinyText('qwen2_5');
    const { id } = await registry.add({
      path: await file('x.jsonl', [{ prompt: 'Hi', completion: 'Yo' }, { prompt: 1 }]),
    });
    const page = { id, mapping: {}, offset: 0, limit: 10 };
    const sft = await registry.preview({ ...page, algorithm: 'sft' }, text);
    const row = sft.rows[0]!;
    expect(row.pieces.join('')).toContain(
      '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYo<|im_end|>',
    );
    expect(row.pieces.filter((_, index) => row.lossMask[index]).join('')).toBe('Yo<|im_end|>');
    expect(sft.rows[1]).toMatchObject({ line: 2, problem: '"completion" holds no text' });
    const grpo = await registry.preview({ ...page, algorithm: 'grpo', maxLength: 5 }, text);
    expect(grpo.rows[0]).toMatchObject({ truncated: true, ids: { length: 5 }, lossMask: new Uint8Array(5) });
    await expect(registry.preview({ ...page, algorithm: 'none' }, text)).rejects.toMatchObject({
      code: 'invalid_input',
    });
  });
});

describe('uploads', () => {
  const bytes = new TextEncoder().encode('{"prompt": "a"}\n{"prompt": "b"}\n');

  test('chunks in order make a data set that outlives the process', async () => {
    const upload = await registry.uploadBegin({ name: 'My rows.jsonl', bytes: bytes.length });
    expect(await registry.uploadChunk({ upload, offset: 0, data: bytes.subarray(0, 10) })).toBe(10);
    await expect(registry.uploadChunk({ upload, offset: 5, data: bytes.subarray(5, 9) })).rejects.toThrow(
      /starts at byte 10/,
    );
    await expect(registry.uploadEnd({ upload })).rejects.toThrow(/10 of 32 bytes/);
    await registry.uploadChunk({ upload, offset: 10, data: bytes.subarray(10) });
    const dataset = await registry.uploadEnd({ upload });
    expect(dataset).toMatchObject({ id: 'my-rows', name: 'My rows', source: 'uploaded', rows: 2 });
    expect(await make().list()).toEqual([dataset]);
    await registry.remove('my-rows');
    expect(await readdir(join(base, 'home/datasets/files'))).toEqual([]);
    expect(await registry.list()).toEqual([]);
  });

  test('a file without a row leaves nothing behind', async () => {
    const upload = await registry.uploadBegin({ name: 'x.jsonl', bytes: 3 });
    await registry.uploadChunk({ upload, offset: 0, data: new TextEncoder().encode('[1]') });
    await expect(registry.uploadEnd({ upload })).rejects.toMatchObject({ code: 'invalid_data' });
    expect(await readdir(join(base, 'home/datasets/uploads'))).toEqual([]);
    await expect(registry.uploadChunk({ upload, offset: 3, data: new Uint8Array(1) })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  test('more than was said, an unknown ending, or more than the disk has is refused', async () => {
    const upload = await registry.uploadBegin({ name: 'x.jsonl', bytes: 2 });
    await expect(registry.uploadChunk({ upload, offset: 0, data: new Uint8Array(3) })).rejects.toMatchObject({
      code: 'invalid_input',
    });
    await expect(registry.uploadBegin({ name: 'x.exe', bytes: 2 })).rejects.toMatchObject({
      code: 'unsupported',
    });
    await expect(registry.uploadBegin({ name: 'x.jsonl', bytes: 2 ** 52 })).rejects.toMatchObject({
      code: 'disk_full',
    });
  });
});

test('bundled data sets name their held-out rows and reward, and stay', async () => {
  await file('bundled/sums.jsonl', [{ prompt: 'a', answer: '1' }]);
  const index = [
    { id: 'sums', name: 'Sums', description: 'd', heldOut: 'sums-held-out', suggestedReward: 'sums' },
  ];
  await writeFile(join(base, 'bundled/index.json'), JSON.stringify(index));
  expect(await registry.list()).toMatchObject([
    { id: 'sums', source: 'bundled', state: 'ready', heldOut: 'sums-held-out', suggestedReward: 'sums' },
  ]);
  await expect(registry.remove('sums')).rejects.toMatchObject({ code: 'forbidden' });
});
