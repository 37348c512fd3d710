import { expect, test } from 'vitest';
import { installed } from './packages.mjs';

const wanted = {
  packages: {
    '': { version: '0.1.0' },
    'node_modules/a': { version: '1.0.0' },
    'node_modules/mac-only': { version: '1.0.0', optional: true },
  },
};

test('an installation fits when every needed package is there in its version', () => {
  expect(installed(wanted, { packages: { 'node_modules/a': { version: '1.0.0' } } })).toBe(true);
  expect(installed(wanted, { packages: { 'node_modules/a': { version: '1.0.1' } } })).toBe(false);
  expect(installed(wanted, { packages: {} })).toBe(false);
});

test('an optional package may be missing, but not be another version', () => {
  const record = (version: string) => ({
    packages: { 'node_modules/a': { version: '1.0.0' }, 'node_modules/mac-only': { version } },
  });
  expect(installed(wanted, record('1.0.0'))).toBe(true);
  expect(installed(wanted, record('2.0.0'))).toBe(false);
});
