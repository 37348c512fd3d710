import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { contract } from '../../shared/contract';
import { demo } from '../../shared/contract/demo';
import { desktopChannels } from '../../shared/contract/desktop';
import { createClient, domPort } from '../../shared/rpc';
import type { DomPort } from '../../shared/rpc/adapters/dom-port';
import * as fake from '../testing/fake-electron';
import type { FakeMessagePortMain } from '../testing/fake-ports';
import type { Backend } from './backend';
import { start } from './start';

vi.mock('electron', () => import('../testing/fake-electron'));

/**
 * The desktop's whole path with real parts: main introduces a page to the real backend in a utility process,
 * which has the real engine, and gets its reward host from main.
 */
const home = mkdtempSync(join(tmpdir(), 'atelier-desktop-'));
const dist = resolve('dist');
let backend: Backend;

beforeAll(async () => {
  vi.stubEnv('ATELIER_HOME', home);
  vi.stubEnv('ATELIER_DEVICE', 'cpu');
  if (!existsSync(join(dist, 'renderer/index.html'))) {
    mkdirSync(join(dist, 'renderer'), { recursive: true });
    writeFileSync(join(dist, 'renderer/index.html'), '<!doctype html>');
  }
  const starting = start({ dist, resources: resolve('resources') });
  fake.becomeReady();
  backend = (await starting)!;
});
afterAll(async () => {
  await backend.stop();
  rmSync(home, { recursive: true, force: true });
});

/** The page's end of a port: the DOM's names for the same events. */
const inPage = (port: FakeMessagePortMain): DomPort => ({
  postMessage: (message) => port.postMessage(message),
  addEventListener: (type: string, listener: (event: never) => void) =>
    void port.on(type, listener as () => void),
  start: () => port.start(),
  close: () => port.close(),
});

async function client() {
  const page = fake.BrowserWindow.all[0]!.webContents;
  const posted = new Promise((done) => page.once('fake-posted', done));
  fake.ipcMain.listeners.get(desktopChannels.connect)!({
    senderFrame: { url: 'app://atelier/', parent: null },
    sender: page,
  });
  await posted;
  return createClient(contract, domPort(inPage(page.posted.at(-1)!.ports[0]!)));
}

describe('the desktop', () => {
  it('takes bytes from the page', async () => {
    const { datasets } = await client();
    const data = new TextEncoder().encode('{"prompt":"1 + 1","answer":"2"}\n{"prompt":"ü","answer":"3"}\n');
    const { upload } = await datasets.uploadBegin({ name: 'rows.jsonl', bytes: data.length });
    expect(await datasets.uploadChunk({ upload, offset: 0, data })).toEqual({ received: data.length });
    expect(await datasets.uploadEnd({ upload })).toMatchObject({ rows: 2 });
  });

  it('trains: reward host from main, engine in the backend, steps over the port', async () => {
    const { runs, system } = await client();
    expect(await system.info({})).toMatchObject({ host: 'desktop', device: 'cpu' });
    const params = { ...demo.params, steps: 2, prompts: 2, groupSize: 4 };
    const { id } = await runs.start({ ...demo, data: { ...demo.data, heldOut: null }, params });
    const kinds = new Set<string>();
    const rewards: number[] = [];
    for await (const row of runs.follow({ id })) {
      kinds.add(row.kind);
      if (row.kind === 'step') rewards.push(row.metrics['reward/mean']!);
    }
    expect(await runs.get({ id })).toMatchObject({ status: 'completed', step: 2 });
    expect(rewards).toHaveLength(2);
    expect(kinds).toContain('checkpoint');
    expect(backend.working).toBeNull();
    const { rollouts } = await runs.rollouts({ id });
    expect(rollouts.every(({ status }) => status === 'ok')).toBe(true);
    const { ids, logp } = await runs.tokens({ id, rollout: rollouts[0]!.id });
    expect(ids).toBeInstanceOf(Int32Array);
    expect(logp).toHaveLength(ids.length);
  }, 300_000);
});
