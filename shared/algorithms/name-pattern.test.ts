import { expect, it } from 'vitest';
import { moduleValues, valuesByModule } from './name-pattern';

it('reads names and values as they are written, in their order', () => {
  expect(valuesByModule('')).toEqual({});
  expect(valuesByModule(' q_proj: 32 ,down_proj:8')).toEqual({ q_proj: 32, down_proj: 8 });
  expect(valuesByModule(String.raw`layers\.(0|1)\.mlp\.up_proj: 2.5`)).toEqual({
    [String.raw`layers\.(0|1)\.mlp\.up_proj`]: 2.5,
  });
  expect(Object.keys(valuesByModule('z: 1, a: 2, m: 3')!)).toEqual(['z', 'a', 'm']);
});

it('reads regular expressions with commas and colons in them', () => {
  const name = String.raw`layers\.\d{1,2}\.(?:self_attn|mlp)\.q_proj`;
  expect(valuesByModule(`${name}: 4, v_proj: 2`)).toEqual({ [name]: 4, v_proj: 2 });
});

it.each([
  'q_proj',
  'q_proj 3',
  'q_proj: ',
  ': 3',
  'q_proj: x',
  'q_proj: 3;',
  'q: 1, q: 2',
  'q_proj: 3,,',
  'q: -1',
])('does not take %j for names and values', (text) => {
  expect(valuesByModule(text)).toBeNull();
});

it.each([
  ['q_proj: 3', true],
  ['', true],
  ['q_proj: 2.5', false],
  ['q_proj: 0', false],
  ['q_proj: 257', false],
  ['q_proj', false],
])('%j as ranks from 1 to 256: %s', (text, good) => {
  const { success, error } = moduleValues({ min: 1, max: 256, whole: true }).safeParse(text);
  expect(success).toBe(good);
  if (!good) expect(error!.issues[0]!.message).toContain('whole numbers from 1 to 256');
});
