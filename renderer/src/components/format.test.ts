import { expect, test } from 'vitest';
import { axisTicks } from './axis';
import { formatBytes, formatDuration, formatNumber, formatRound, formatSigned } from './format';

test.each([
  [0, '0'],
  [0.12345, '0.123'],
  [-0.5, '−0.500'],
  [12.3456, '12.35'],
  [123.456, '123.5'],
  [1234.5, '1\u202f235'],
  [0.0000012, '1.2e−6'],
  [NaN, 'NaN'],
  [null, '–'],
  [Infinity, '∞'],
])('%s is written %s', (value, text) => expect(formatNumber(value)).toBe(text));

test('digits follow the magnitude and units are shown', () => {
  expect(formatBytes(1_318_400)).toBe('1.32 MB');
  expect(formatBytes(742_000_000)).toBe('742 MB');
  expect(formatDuration(0.04)).toBe('0.04 s');
  expect(formatDuration(71)).toBe('1 min 11 s');
  expect(formatDuration(3600 * 5 + 60 * 7)).toBe('5 h 07 min');
  expect(formatSigned(0.589, 3)).toBe('+0.589');
});

test('ticks are round, within the axis, and few', () => {
  expect(axisTicks(1, 80, 8)).toEqual([10, 20, 30, 40, 50, 60, 70, 80]);
  expect(axisTicks(1, 3, 5)).toEqual([1, 2, 3]);
  expect(axisTicks(1, 10_000, 4).length).toBeLessThanOrEqual(4);
  expect([40, 0.45, -0.4, 3200, -7.5e-4, 2e-6, 2.5e7].map(formatRound)).toEqual([
    '40',
    '0.45',
    '−0.4',
    '3\u202f200',
    '−7.5e−4',
    '2e−6',
    '2.5e7',
  ]);
});
