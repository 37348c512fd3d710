// Cases 13, 15, 16 and 17 of the README's table: text, rows and settings.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { commonPrefix, ModelText, type ChatMessage } from '../../electron/backend/text';
import { parseReference } from '../../electron/backend/datasets/hub-reference';
import { lines, prepared } from '../../electron/backend/datasets/testing';
import { tokenBudget } from '../../electron/backend/runs/check-config';
import { tinyText } from '../../electron/backend/text/testing';
import { ALGORITHMS, fields } from '../../shared/algorithms';

const needs = (more: object) => more as Parameters<typeof tokenBudget>[0];
const reads = (contextLength: number) => ({ contextLength }) as Parameters<typeof tokenBudget>[1];

describe('13: over-long rows', () => {
  it('are left out and counted; the limit is of prompt and answer together', async () => {
    const text = await tinyText(null);
    const data = { text, mapping: { prompt: 'prompt', completion: 'response' } };
    const rows = [{ prompt: 'q', response: 'cd' }];
    // one token each, and EOS
    expect((await prepared('examples', lines(rows), { ...data, maxTokens: 4 })).rows).toHaveLength(1);
    const { rows: kept, problems } = await prepared('examples', lines(rows), { ...data, maxTokens: 3 });
    expect(kept).toEqual([]);
    expect(problems).toMatchObject([{ reason: 'too-long', message: expect.stringContaining('limit of 3') }]);
  });

  it('by the smaller of the setting and what the model reads; AReno’s setting wins even where it is larger', () => {
    expect(tokenBudget(needs({ data: 'examples', maxTokens: 4 }), reads(10))).toBe(4);
    expect(tokenBudget(needs({ data: 'examples', maxTokens: 10 }), reads(4))).toBe(4);
  });
});

describe('15: chat templates', () => {
  const question: ChatMessage[] = [{ role: 'user', content: 'Hi' }];

  it('a prompt is written once, as one user message', async () => {
    const text = await tinyText('qwen2_5');
    const shown = await text.prompt(question);
    expect(shown.text.match(/Hi/g)).toHaveLength(1);
    expect(shown.text.endsWith('<|im_start|>assistant\n')).toBe(true);
  });

  it('control tokens that a prompt spells out stay text, where AReno takes them for a rendered prompt', async () => {
    const text = await tinyText('qwen2_5');
    const { ids } = await text.prompt([{ role: 'user', content: '<|im_start|>user\nHi' }]);
    const plain = await text.prompt(question);
    const opens = (all: Int32Array) => all.filter((id) => id === text.tokenizer.id('<|im_start|>')).length;
    expect(opens(ids)).toBe(opens(plain.ids));
  });

  it('variables reach the template, and a template that has no use for them is not disturbed', async () => {
    const variables = { enable_thinking: false };
    const thinks = await tinyText('qwen3');
    expect((await thinks.prompt(question, { variables })).text).toContain('<think>\n\n</think>');
    const other = await tinyText('qwen2_5');
    expect((await other.prompt(question, { variables })).text).toBe((await other.prompt(question)).text);
  });

  it('no content is none, and parts of text are joined', async () => {
    const text = await tinyText('qwen2_5');
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ];
    const { text: shown } = await text.prompt([{ role: 'user', content: parts }]);
    expect(shown).toContain('<|im_start|>user\nab<|im_end|>');
    const called = await text.chat([
      ...question,
      { role: 'assistant', content: null, tool_calls: [{ function: { name: 'f', arguments: { x: 1 } } }] },
    ]);
    expect(called.text).not.toContain('null');
    expect(called.text).toContain('"arguments": {"x": 1}');
  });

  it('an answer ends with what generation_config.json says, else config.json, and with the tokenizer’s EOS', async () => {
    const from = fileURLToPath(new URL('../fixtures/tokenizers/tiny_bpe', import.meta.url));
    const stopsOf = async (files: Record<string, object>) => {
      const dir = mkdtempSync(join(tmpdir(), 'atelier-eos-'));
      cpSync(from, dir, { recursive: true });
      for (const [name, value] of Object.entries(files))
        writeFileSync(join(dir, name), JSON.stringify(value));
      const text = await ModelText.fromFolder(dir);
      rmSync(dir, { recursive: true });
      return [[...text.stopIds], text.tokenizer.special('eos_token')!] as const;
    };
    const generation = { 'generation_config.json': { eos_token_id: [4, 1] } };
    const config = { 'config.json': { eos_token_id: [2, 1], text_config: { eos_token_id: [3, 2] } } };
    const [stops, eos] = await stopsOf({ ...generation, ...config });
    // AReno adds config.json's too, which generate() of transformers does not look at then
    expect(stops).toEqual([4, 1, eos]);
    expect((await stopsOf(config))[0]).toEqual([2, 1, eos]);
    expect((await stopsOf({ 'config.json': { text_config: { eos_token_id: [3, 2] } } }))[0]).toEqual([
      3,
      2,
      eos,
    ]);
  });
});

describe('16: rows', () => {
  const mapping = { prompt: 'prompt', completion: 'response' };

  it('an answer and EOS are learnt, the prompt is not; rows without an answer are left out', async () => {
    const text = await tinyText(null);
    const { rows, problems } = await prepared(
      'examples',
      lines([
        { prompt: 'q', response: 'a' },
        { prompt: 'q', response: '' },
        { prompt: 'q', response: null },
      ]),
      { text, mapping },
    );
    expect([...rows[0]!.ids]).toEqual([
      ...(await text.tokenizer.encode('q')),
      ...(await text.tokenizer.encode('a')),
      text.stopIds[0],
    ]);
    expect([...rows[0]!.lossMask]).toEqual([0, 1, 1]);
    expect(problems.map(({ reason }) => reason)).toEqual(['empty', 'missing']);
  });

  it('of a pair both answers have the same prompt; a missing answer is named', async () => {
    const text = await tinyText(null);
    const pairs = { text, mapping: { prompt: 'prompt', chosen: 'chosen', rejected: 'rejected' } };
    const { rows, problems } = await prepared(
      'pairs',
      lines([
        { prompt: 'q', chosen: 'a', rejected: 'c' },
        { prompt: 'q', chosen: 'a' },
      ]),
      pairs,
    );
    const [{ chosen, rejected }] = rows as [(typeof rows)[number]];
    expect(chosen.lossMask).toEqual(rejected.lossMask);
    expect(chosen.ids[0]).toBe(rejected.ids[0]);
    expect(problems[0]!.message).toBe('"rejected" holds no text');
    expect(commonPrefix([1, 2, 3], [1, 2, 4])).toBe(2);
  });

  it('prompts beyond the limit are left out with their length, the others kept in order', async () => {
    const text = await tinyText(null);
    const { rows, problems } = await prepared(
      'rollouts',
      lines([{ prompt: 'q c d e f' }, { prompt: 'q' }, { prompt: 'c' }]),
      { text, mapping: { prompt: 'prompt' }, maxTokens: 3 },
    );
    expect(rows.map(({ line }) => line)).toEqual([2, 3]);
    expect(problems[0]!.message).toMatch(/^\d+ tokens, more than the limit of 3/);
  });

  it('a prompt has the room that the longest answer leaves: 5000 - 256 = 4744', () => {
    expect(tokenBudget(needs({ data: 'rollouts', maxNewTokens: 256 }), reads(5000))).toBe(4744);
  });
});

describe('17: references and settings', () => {
  it('a reference has three parts at most', () => {
    expect(parseReference('gsm8k:main:test')).toEqual({ repo: 'gsm8k', config: 'main', split: 'test' });
    expect(() => parseReference('a:b:c:d')).toThrow('three at most');
  });

  const numbers = ALGORITHMS.flatMap((algorithm) =>
    fields(algorithm).flatMap(({ key, type, min, max }) =>
      type === 'number' || type === 'integer' ? [[algorithm, key, min!, max!] as const] : [],
    ),
  );
  it(`each of ${numbers.length} numbers that is out of its range is refused by its own name`, () => {
    for (const [algorithm, key, min, max] of numbers)
      for (const value of [min - 1, max + 1, NaN]) {
        const { error } = algorithm.params.safeParse({ [key]: value });
        expect(
          error?.issues.some(({ path }) => path[0] === key),
          `${algorithm.key}: ${key} = ${value}`,
        ).toBe(true);
      }
  });
});
