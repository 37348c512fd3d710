import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { ModelFacts } from '../../../native/face';
import { scriptedModel } from '../testing/scripted-engine';
import type { Taught } from '../system';
import { refusalsOf } from './export-refusals';

const folderOf = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
/** Its tokenizer splits text as Qwen2's does; the bundled model's by a rule of its own. */
const qwen = folderOf('conformance/fixtures/tokenizers/tiny_bpe');
const abacus = folderOf('resources/models/abacus');

async function refused(
  taught: Taught,
  path: string,
  facts: Partial<ModelFacts> = {},
  compared: 'logits' | 'scores' = 'logits',
) {
  const module = () => ({
    checkModel: () => ({ ...scriptedModel, family: 'qwen3', vocabularySize: 640, ...facts }),
    readGguf: () => {
      throw new Error('not a GGUF file');
    },
  });
  const all = await refusalsOf({ taught, compared, model: { path }, module });
  return Object.fromEntries(all.map((each) => [each.kind, each.refused?.message ?? null]));
}
const lora: Taught = { kind: 'adapter', folder: '/adapter', weights: 'stored' };

it('an adapter can be exported as it is and merged', async () => {
  expect(await refused(lora, qwen)).toEqual({ adapter: null, merged: null, gguf: null, mlx: null });
});

it('all parameters are no adapter', async () => {
  expect(await refused({ kind: 'model', folder: qwen }, qwen)).toEqual({
    adapter: 'This run trained all parameters: there is no adapter.',
    merged: null,
    gguf: null,
    mlx: null,
  });
});

it('a reward model has a head for scores, which GGUF and MLX cannot hold', async () => {
  const { adapter, merged, gguf, mlx } = await refused(lora, qwen, {}, 'scores');
  expect([adapter, merged]).toEqual([null, null]);
  expect([gguf, mlx]).toEqual([
    expect.stringContaining('no head for scores'),
    expect.stringContaining('MLX'),
  ]);
});

it('GGUF needs a model that llama.cpp has and a rule of splitting text that it has names for', async () => {
  const ggufRefusal = { message: 'a sliding window cannot be written as GGUF', hint: 'Export it merged.' };
  expect(await refused(lora, qwen, { ggufRefusal })).toMatchObject({ gguf: ggufRefusal.message, mlx: null });
  expect(await refused(lora, abacus)).toMatchObject({
    gguf: expect.stringContaining('splits text by a rule that has no name in GGUF'),
    merged: null,
  });
});
