import { expect, test } from 'vitest';
import { parseArguments } from './arguments.mjs';
import { defaultDevice } from './paths.mjs';

const names = ['demo', 'test'];

test('the device is taken out, the rest is the task’s own', () => {
  expect(parseArguments(['demo', '--seed', '3', '--device', 'cuda', 'x'], names)).toEqual({
    name: 'demo',
    device: 'cuda',
    rest: ['--seed', '3', 'x'],
  });
  expect(parseArguments(['test', '--device=cpu'], names)).toEqual({ name: 'test', device: 'cpu', rest: [] });
  expect(parseArguments(['demo'], names).device).toBe(defaultDevice());
});

test('a wrong task or device says what there is', () => {
  expect(() => parseArguments(['dance'], names)).toThrow(/no task "dance"[\s\S]*demo, test/);
  expect(() => parseArguments(['demo', '--device', 'tpu'], names)).toThrow(/tpu[\s\S]*cpu, cuda, metal/);
  expect(() => parseArguments(['demo', '--device'], names)).toThrow(/not a device/);
});
