import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { findElectron } from './electron.mjs';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'atelier-electron-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

test('Electron’s program is found where its installer says that it put it, or in the folder given', () => {
  expect(findElectron(folder)).toBeNull();
  writeFileSync(join(folder, 'path.txt'), 'electron');
  expect(findElectron(folder)).toBeNull();
  mkdirSync(join(folder, 'dist'));
  writeFileSync(join(folder, 'dist/electron'), '');
  expect(findElectron(folder)).toBe(join(folder, 'dist/electron'));
  vi.stubEnv('ELECTRON_OVERRIDE_DIST_PATH', join(folder, 'elsewhere'));
  expect(findElectron(folder)).toBeNull();
});
