import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { grpoRun, openBackend, type Backend } from './testing';

let home: string;
let backend: Backend;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'atelier-home-'));
  backend = await openBackend(home);
});
afterEach(async () => {
  await backend.close();
  rmSync(home, { recursive: true });
});

const estimate = async (maxNewTokens: number, more: Record<string, unknown> = {}) => {
  const run = grpoRun();
  const params = { ...run.params, maxNewTokens, ...more };
  const found = await backend.client.runs.estimate({ ...run, params });
  return { ...found, samplings: backend.engine.calls.generate };
};

it('is measured anew where answers may now be longer than those that were cut off', async () => {
  const short = await estimate(1);
  const long = await estimate(16);
  expect(long.samplings).toBeGreaterThan(short.samplings);
  expect(long.diskBytes).toBeGreaterThan(short.diskBytes);
});

it('is kept where no answer was cut off, and where less is allowed', async () => {
  const { samplings } = await estimate(16);
  expect((await estimate(64)).samplings).toBe(samplings);
  expect((await estimate(1)).samplings).toBe(samplings);
});

it('says what it leaves out: further rounds of prompts', async () => {
  expect((await estimate(16)).problems).toEqual([]);
  expect((await estimate(16, { resample: 3 })).problems).toMatchObject([
    { level: 'warning', path: 'params.resample', message: expect.stringContaining('up to 4 times') },
  ]);
});
