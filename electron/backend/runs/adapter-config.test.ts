import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { adapterConfig } from './adapter-config';

const modules = (names: string[]) =>
  names.map((name) => ({ name: `model.layers.0.x.${name}`, rank: 4, scale: 2 }));

it.each([
  ['all', ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'], false],
  ['qv', ['v_proj', 'q_proj'], false],
  ['rslora', ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'], true],
])('is what peft 0.21.2 wrote for the fixture %s, byte for byte', (name, targets, rslora) => {
  const folder = new URL(`../../../conformance/fixtures/lora/llama3_rope/${name}/`, import.meta.url);
  const written = readFileSync(new URL('adapter_config.json', folder), 'utf8');
  const expected = JSON.parse(written) as { r: number; lora_alpha: number; target_modules: string[] };
  expected.target_modules.sort();
  const ours = adapterConfig({
    base: 'llama3_rope',
    rank: expected.r,
    alpha: expected.lora_alpha,
    rslora,
    modules: modules(targets),
  });
  expect(ours).toEqual(expected);
  // the same order of fields, so that the files compare well
  expect(Object.keys(ours)).toEqual(Object.keys(expected));
});
