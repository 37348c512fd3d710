import { readFileSync, writeFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { value, valuePath } from '../values';
import { kindOf, START, type Place, type ScannedRow } from '.';

const { rows } = value<{ rows: Record<string, unknown>[] }>('rows.json');
const folder = mkdtempSync(join(tmpdir(), 'atelier-formats-'));

async function read(path: string, from: Place = START): Promise<ScannedRow[]> {
  const { format } = await kindOf(path, path);
  const all: ScannedRow[] = [];
  for await (const some of format.read(path, from)) all.push(...some);
  return all;
}

function file(name: string, text: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const rowsIn = async (name: string, text: string | Buffer) =>
  (await read(file(name, text))).map(({ row, problem }) => row ?? problem);

test.each([
  'snappy.parquet',
  'zstd.parquet',
  'gzip.parquet',
  'none.parquet',
  'brotli.parquet',
  'lz4.parquet',
  'v2.parquet',
  'file.arrow',
  'stream.arrow',
  'zstd.arrow',
  'lz4.arrow',
  'saved/data-00000-of-00001.arrow',
])('%s holds the rows that pyarrow wrote, from any row on', async (name) => {
  const path = valuePath(name);
  const all = await read(path);
  expect(all.map(({ row }) => row)).toEqual(rows);
  expect(all.map(({ line }) => line)).toEqual(rows.map((_, k) => k + 1));
  for (const start of [1, 4, 9]) {
    const { offset, line } = all[start]!;
    expect((await read(path, { offset, line })).map(({ row }) => row)).toEqual(rows.slice(start));
  }
});

test('values of a dictionary', async () => {
  const all = await read(valuePath('dictionary.arrow'));
  expect(all.map(({ row }) => row)).toEqual(['a', 'b', 'a', 'c'].map((prompt, k) => ({ prompt, n: k + 1 })));
});

test.each(['snappy.parquet', 'zstd.parquet', 'file.arrow', 'stream.arrow', 'lz4.arrow'])(
  'of %s, no cut or changed byte ends in a crash, a hang or rows without end',
  async (name) => {
    const bytes = readFileSync(valuePath(name));
    for (let k = 0; k < 45; k++) {
      const bad = Buffer.from(bytes);
      const at = Math.floor((k * bytes.length) / 45);
      if (k % 3 === 0) bad[at] = 0xff;
      else if (k % 3 === 1) bad.writeUInt8(bad[at]! ^ 0x81, at);
      const path = file(`bad-${name}`, k % 3 === 2 ? bad.subarray(0, at) : bad);
      const all = await read(path).catch((error: unknown) => error as Error);
      if (Array.isArray(all)) expect(all.length).toBeLessThanOrEqual(2 ** 16);
      else expect(all).toBeInstanceOf(Error);
    }
  },
);

test('text files hold the same rows, from any row on', async () => {
  const flat = rows.map(({ prompt, answer }) => ({ prompt, answer: String(answer) }));
  const quoted = (text: unknown) => `"${String(text).replaceAll('"', '""')}"`;
  const bom = '\uFEFF';
  for (const [name, text] of [
    ['a.jsonl', bom + flat.map((row) => JSON.stringify(row)).join('\r\n')],
    ['lines.json', flat.map((row) => JSON.stringify(row)).join('\n')],
    ['a.json', JSON.stringify(flat, null, 2)],
    ['b.json', bom + JSON.stringify(flat)],
    [
      'columns.json',
      JSON.stringify({ prompt: flat.map((row) => row.prompt), answer: flat.map((row) => row.answer) }),
    ],
    ['wrapped.json', JSON.stringify({ data: flat })],
    [
      'a.csv',
      `${bom}prompt,answer\r\n${flat.map((row) => `${quoted(row.prompt)},${row.answer}`).join('\r\n')}\r\n`,
    ],
    [
      'semicolon.csv',
      `prompt;answer\n${flat.map((row) => `${quoted(row.prompt)};${row.answer}`).join('\n')}`,
    ],
    ['a.tsv', `prompt\tanswer\n${flat.map((row) => `${quoted(row.prompt)}\t${row.answer}`).join('\n')}`],
  ] as const) {
    const path = file(name, text);
    const all = await read(path);
    expect(
      all.map(({ row }) => row),
      name,
    ).toEqual(flat);
    for (const start of [1, 4, 9]) {
      const { offset, line } = all[start]!;
      const rest = await read(path, { offset, line });
      expect(rest, name).toEqual(all.slice(start));
    }
  }
});

test('a tab-separated file keeps its commas, and a quote within a field is text', async () => {
  expect(await rowsIn('b.tsv', 'prompt\tn\na, b\t5" pipe\nc\t\n')).toEqual([
    { prompt: 'a, b', n: '5" pipe' },
    { prompt: 'c', n: null },
  ]);
});

test.each([
  ['a,b\n1,2,3\n', 'it has 3 fields, the header 2'],
  ['a,b\n"1,2\n3', 'a quoted field does not end'],
  ['a\n\xff\n', 'it is not UTF-8 text'],
])('in CSV, %j says what is wrong', async (text, problem) => {
  expect(await rowsIn('wrong.csv', Buffer.from(text, 'latin1'))).toEqual([problem]);
});

test('a header that names a column twice is refused', async () => {
  await expect(rowsIn('twice.csv', 'a,b,a\n1,2,3\n')).rejects.toThrow('the column "a" stands twice');
});

test.each([
  ['{"a": 1, "a": 2}', 'the key "a" stands twice in one object'],
  ['{"m": [{"role": "x", "content": ":", "role": "y"}]}', 'the key "role" stands twice in one object'],
  ['{"a": NaN}', 'not JSON: NaN is not JSON; write null, or the number as text'],
  ['{"a": [1, -Infinity]}', 'not JSON: -Infinity is not JSON; write null, or the number as text'],
  [`${'{"a":'.repeat(80)}1${'}'.repeat(80)}`, 'nested more than 64 deep'],
  ['[1]', 'a row must be a JSON object, {"column": value}'],
])('in JSON, %s says what is wrong', async (text, problem) => {
  expect(await rowsIn('wrong.jsonl', text)).toEqual([problem]);
  expect(await rowsIn('wrong.json', `[{"a": 1}, ${text}]`)).toEqual([{ a: 1 }, problem]);
});

test('the same text as a value or in another object is no second key', async () => {
  const row = { a: 'a": "a', b: { a: '\\' }, c: [{ a: 1 }, { a: 2 }] };
  expect(await rowsIn('fine.jsonl', JSON.stringify(row))).toEqual([row]);
});

test('what follows a list is told, and is no row', async () => {
  const told = 'the list ends before the file does: what follows it is not read';
  expect(await rowsIn('two.json', '[{"a": 1}]\n[{"a": 2}]')).toEqual([{ a: 1 }, told]);
  const far = ' '.repeat(600 << 10);
  expect(await rowsIn('far.json', `[{"a": 1}]${far}x`)).toEqual([{ a: 1 }, told]);
  expect(await rowsIn('space.json', `[{"a": 1}]${far}\n`)).toEqual([{ a: 1 }]);
});

test('a list that is cut off keeps its whole rows and says so; a huge row is skipped', async () => {
  expect(await rowsIn('cut.json', '[{"a": 1}, {"a": ')).toEqual([
    { a: 1 },
    'the list does not end: the file is cut off',
  ]);
  const huge = JSON.stringify({ a: 'x'.repeat(17 << 20) });
  const rest = JSON.stringify({ a: 1 });
  for (const [name, text] of [
    ['huge.jsonl', `${huge}\n${rest}`],
    ['huge.json', `[${huge},${rest}]`],
    ['huge.csv', `a\n${'x'.repeat(17 << 20)}\n1`],
  ] as const) {
    expect(await rowsIn(name, text), name).toEqual([
      'it is longer than 16 MiB',
      { a: name.endsWith('csv') ? '1' : 1 },
    ]);
  }
});

test('columns of unequal length are named', async () => {
  await expect(rowsIn('odd.json', '{"a": [1, 2], "b": [1]}')).rejects.toThrow(
    '2 values of "a", but 1 of "b"',
  );
});

test('a file whose name says nothing is judged by its content, one with a foreign ending is not', async () => {
  const path = file('e7a9', readFileSync(valuePath('snappy.parquet')));
  expect((await read(path)).length).toBe(10);
  expect((await kindOf(file('lines', '{"a": 1}\n{"a": 2}\n'), 'lines')).format.name).toBe('JSON Lines');
  const foreign = file('x.exe', '{"a": 1}\n{"a": 2}\n');
  await expect(kindOf(foreign, foreign)).rejects.toMatchObject({ code: 'unsupported' });
});
