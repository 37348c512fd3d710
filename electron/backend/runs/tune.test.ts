import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { TuneItem } from '../../../shared/contract/runs';
import { scriptedEngine } from '../testing/scripted-engine';
import { grpoRun, isStatus, openBackend, until, type Backend } from './testing';

let home: string;
let backend: Backend;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'atelier-home-'));
});
afterEach(async () => {
  await backend.close();
  rmSync(home, { recursive: true });
});

const run = { ...grpoRun(), params: { ...grpoRun().params, maxNewTokens: 8 } };

async function tune(signal?: AbortSignal): Promise<TuneItem[]> {
  const items: TuneItem[] = [];
  for await (const item of backend.client.runs.tune(run, { ...(signal && { signal }) })) items.push(item);
  return items;
}

it('the chosen fit comes first, then what was tried, then the best of it; nothing is left', async () => {
  backend = await openBackend(home);
  const items = await tune();
  expect(items.map(({ kind }) => kind)).toEqual(['chosen', ...items.slice(2).map(() => 'tried'), 'best']);
  expect((await backend.engine.stats()).adapters).toBe(0);
  expect(await backend.client.runs.list({})).toEqual([]);
});

it('a run at work has the engine: neither a fit nor a tuning touches it', async () => {
  let release!: () => void;
  const held = new Promise<void>((resolve) => (release = resolve));
  backend = await openBackend(home, { engine: scriptedEngine({ beforeGenerate: () => held }) });
  const { id } = await backend.client.runs.start(grpoRun());
  await until(backend.client.runs.follow({ id }), isStatus('running'));
  const { step } = backend.engine.calls;
  await expect(tune()).rejects.toMatchObject({ code: 'conflict', message: expect.stringMatching(/at work/) });
  await expect(backend.client.runs.fit(run)).rejects.toMatchObject({ code: 'conflict' });
  expect(backend.engine.calls.step).toBe(step);
  release();
  await backend.client.runs.stop({ id });
  await until(backend.client.runs.follow({ id }), isStatus('stopped', 'completed'));
});

it('a tuning that is cancelled leaves nothing behind', async () => {
  const cancel = new AbortController();
  let ended!: () => void;
  const last = new Promise<void>((resolve) => (ended = resolve));
  const engine = scriptedEngine({
    beforeStep: (call) => {
      if (call === 7) cancel.abort();
    },
  });
  const unload = engine.unloadAdapter.bind(engine);
  engine.unloadAdapter = async (adapter) => {
    await unload(adapter);
    if (cancel.signal.aborted) ended();
  };
  backend = await openBackend(home, { engine });
  await tune(cancel.signal).catch(() => undefined);
  await last;
  expect((await engine.stats()).adapters).toBe(0);
});
