import { expect, it } from 'vitest';
import { moduleValues, valuesByModule } from './name-pattern';

const ranks = moduleValues({ min: 1, max: 256, whole: true });

it('reads names and values as they are written, in their order', () => {
  expect(valuesByModule('')).toEqual({});
  expect(valuesByModule(undefined)).toEqual({});
  expect(valuesByModule(' q_proj: 32 ,down_proj:8')).toEqual({ q_proj: 32, down_proj: 8 });
  expect(valuesByModule(String.raw`layers\.(0|1)\.mlp\.up_proj: 2.5`)).toEqual({
    [String.raw`layers\.(0|1)\.mlp\.up_proj`]: 2.5,
  });
  expect(Object.keys(valuesByModule('z: 1, a: 2, m: 3'))).toEqual(['z', 'a', 'm']);
});

it('reads regular expressions with commas and colons in them', () => {
  const name = String.raw`layers\.\d{1,2}\.(?:self_attn|mlp)\.q_proj`;
  expect(valuesByModule(`${name}: 4, v_proj: 2`)).toEqual({ [name]: 4, v_proj: 2 });
});

it.each([
  ['q_proj: 3', true],
  ['', true],
  ['q_proj: 2.5', false],
  ['q_proj: 0', false],
  ['q_proj: 257', false],
  ['q_proj', false],
  ['q_proj 3', false],
  ['q_proj: ', false],
  [': 3', false],
  ['q_proj: x', false],
  ['q_proj: -1', false],
  ['q_proj: 3;', false],
  ['q_proj: 3,,', false],
  ['q_proj, v_proj: 8', false],
  ['q_proj 32, down_proj: 8', false],
  ['q_proj: 4; v_proj: 8', false],
  ['q_proj: 4 v_proj: 8', false],
])('%j as ranks from 1 to 256: %s', (text, good) => {
  const { success, error } = ranks.safeParse(text);
  expect(success).toBe(good);
  if (!good) expect(error!.issues[0]!.message).toContain('whole numbers from 1 to 256');
});

it('a name that stands twice is told as such, and a long text is not searched', () => {
  expect(ranks.safeParse('q_proj: 1, v_proj: 2, q_proj: 3').error!.issues).toMatchObject([
    { message: expect.stringContaining('stands twice') },
  ]);
  for (const text of ['a' + ' '.repeat(200_000) + 'b', 'a:'.repeat(200_000)]) {
    const start = performance.now();
    expect(ranks.safeParse(text).error!.issues).toMatchObject([{ code: 'too_big' }]);
    expect(performance.now() - start).toBeLessThan(1000);
  }
});
