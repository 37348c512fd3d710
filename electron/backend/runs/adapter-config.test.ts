import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { valuesByModule } from '../../../shared/algorithms';
import { adapterConfig } from './adapter-config';

const modules = (names: string[], dora: boolean) =>
  names.map((name) => ({ name: `model.layers.0.x.${name}`, rank: 4, scale: 2, dora }));

const ALL = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'];

it.each([
  ['qwen3_tied/dora', ['q_proj', 'v_proj', 'down_proj'], false],
  ['llama3_rope/all', ALL, false],
  ['llama3_rope/qv', ['v_proj', 'q_proj'], false],
  ['llama3_rope/rslora', ALL, true],
])('is what peft 0.21.2 wrote for the fixture %s, byte for byte', (name, targets, rslora) => {
  const folder = new URL(`../../../conformance/fixtures/lora/${name}/`, import.meta.url);
  const written = readFileSync(new URL('adapter_config.json', folder), 'utf8');
  const expected = JSON.parse(written) as { r: number; lora_alpha: number; target_modules: string[] };
  expected.target_modules.sort();
  const ours = adapterConfig({
    base: name.split('/')[0]!,
    spec: { rank: expected.r, alpha: expected.lora_alpha, rslora },
    info: { modules: modules(targets, name.endsWith('dora')), saved: [], scalarHead: false },
  });
  expect(ours).toEqual(expected);
  // the same order of fields, so that the files compare well
  expect(Object.keys(ours)).toEqual(Object.keys(expected));
});

it('has the patterns that peft wrote for the fixture of them', () => {
  const file = '../../../conformance/fixtures/lora/qwen3_tied/patterns/adapter_config.json';
  const expected = JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));
  expected.target_modules.sort();
  const rankPattern = valuesByModule(String.raw`layers\.1\.mlp\.down_proj: 3, q_proj: 2`);
  const ours = adapterConfig({
    base: 'qwen3_tied',
    spec: { rank: 4, alpha: 8, rankPattern, alphaPattern: valuesByModule('v_proj: 5') },
    info: { modules: modules(ALL, false), saved: [], scalarHead: false },
  });
  expect(ours).toEqual(expected);
});

it('names the modules that are saved whole', () => {
  const saved = ['lm_head', 'model.embed_tokens'];
  const config = adapterConfig({
    base: 'x',
    spec: { rank: 4, alpha: 8 },
    info: { modules: [], saved, scalarHead: false },
  });
  expect(config['modules_to_save']).toEqual(['embed_tokens', 'lm_head']);
});

it('is what peft wrote for a sequence classifier', () => {
  const file = '../../../conformance/fixtures/reward_models/qwen3_tied_lora/adapter_config.json';
  const expected = JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));
  const ours = adapterConfig({
    base: 'qwen3_tied',
    spec: { rank: 4, alpha: 8 },
    info: { modules: modules(ALL, false), saved: [], scalarHead: true },
  });
  // it names each module in full where "all-linear" was asked for
  const ends = expected.target_modules.map((name: string) => name.split('.').at(-1)).sort();
  expect(ours).toEqual({ ...expected, target_modules: [...new Set(ends)] });
  const { modules_to_save } = adapterConfig({
    base: 'x',
    spec: { rank: 4, alpha: 8 },
    info: { modules: [], saved: ['model.embed_tokens'], scalarHead: true },
  });
  expect(modules_to_save).toEqual(['embed_tokens', 'classifier', 'score']);
});
