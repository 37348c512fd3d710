import { expect, it } from 'vitest';
import { exportForm } from './export';

it.each([
  [undefined, undefined, { kind: 'adapter' }],
  ['merged', undefined, { kind: 'merged', dtype: 'f32' }],
  ['merged', 'bf16', { kind: 'merged', dtype: 'bf16' }],
  ['gguf', 'q8_0', { kind: 'gguf', type: 'q8_0' }],
  ['mlx', undefined, { kind: 'mlx', bits: 4 }],
  ['mlx', '8', { kind: 'mlx', bits: 8 }],
  ['mlx', 'bf16', { kind: 'mlx', bits: null }],
])('--as %s --type %s', (as, type, form) => {
  expect(exportForm(as, type)).toEqual(form);
});

it.each([
  ['onnx', undefined, 'adapter, merged, gguf, mlx'],
  ['gguf', 'q4_k', 'f16, q8_0, f32'],
  ['adapter', 'f32', 'has none'],
  ['toString', undefined, '--as is "toString"'],
])('--as %s --type %s is refused', (as, type, reason) => {
  expect(() => exportForm(as, type)).toThrow(reason);
});
