import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ExportProgress } from '../../../shared/contract/runs';
import type { HostSpawn } from '../../supervise/host-spawn';
import { scriptedEngine, scriptedModel } from '../testing/scripted-engine';
import { grpoRun, isStatus, openBackend, until, type Backend } from './testing';
import type { VerifyAnswer, VerifyRequest } from './verify';

let home: string;
let backend: Backend;
let id: string;
let folder: string;
/** What the fresh process answers; null: it dies. */
let answer: (request: VerifyRequest) => Promise<VerifyAnswer | null>;

/** Computes with an engine of its own, as the real one does. */
async function honest({ adapter, rows }: VerifyRequest): Promise<VerifyAnswer> {
  const engine = scriptedEngine();
  const { id: loaded } = await engine.loadAdapter(scriptedModel.id, adapter!);
  const request = { model: scriptedModel.id, adapter: loaded, rows, positions: 'last' as const };
  return { outputs: await engine.logits(request) };
}
const spawn: HostSpawn = async () => {
  let reply: (message: unknown) => void = () => undefined;
  let exit: (code: number | null, signal: string | null, words: string) => void = () => undefined;
  return {
    pid: 1,
    port: {
      post: (request) =>
        void answer(request as VerifyRequest).then((message) =>
          message ? reply(message) : exit(1, null, ''),
        ),
      onMessage: (listener) => (reply = listener),
      onClose: () => undefined,
      close: () => undefined,
    },
    kill: () => undefined,
    onExit: (listener) => (exit = listener),
  };
};

beforeEach(async () => {
  answer = honest;
  home = mkdtempSync(join(tmpdir(), 'atelier-home-'));
  backend = await openBackend(home, { spawn });
  ({ id } = await backend.client.runs.start(grpoRun()));
  await until(backend.client.runs.follow({ id }), isStatus('completed'));
  folder = join(home, 'runs', id, 'exports');
});
afterEach(async () => {
  await backend.close();
  rmSync(home, { recursive: true });
});

type Done = Extract<ExportProgress, { kind: 'done' }>;
async function write(path?: string): Promise<Done> {
  let last: ExportProgress | undefined;
  for await (const item of backend.client.runs.export({ id, ...(path === undefined ? {} : { path }) }))
    last = item;
  return last as Done;
}
const listed = async () => (await backend.client.runs.get({ id })).exports.map(({ verified }) => verified);

describe('an export', () => {
  it('gets its name once a fresh process has computed the same', async () => {
    answer = (request) => {
      expect(existsSync(join(folder, 'step-8'))).toBe(false);
      return honest(request);
    };
    const done = await write();
    expect(done).toMatchObject({ verified: true, maxDifferenceLive: 0, path: join(folder, 'step-8') });
    expect(readdirSync(folder)).toEqual(['step-8']);
    expect(readFileSync(join(done.path, 'README.md'), 'utf8')).not.toContain('Verification failed');
    expect(await listed()).toEqual([true]);
  });

  it('that computes something else is kept and says so itself', async () => {
    answer = async (request) => {
      const { outputs } = (await honest(request)) as { outputs: Float32Array };
      return { outputs: outputs.map((value) => value + 1) };
    };
    const done = await write();
    expect(done).toMatchObject({ verified: false, message: expect.stringContaining('Do not use') });
    expect(readFileSync(join(done.path, 'README.md'), 'utf8')).toMatch(/Verification failed.*differ/);
    expect(await listed()).toEqual([false]);
  });

  it.each([
    ['cannot be loaded again', async () => ({ error: 'odd bytes' }), 'odd bytes'],
    ['cannot be checked', async () => null, 'ended (code 1)'],
  ])('that %s leaves nothing', async (_name, given, reason) => {
    answer = given;
    await expect(write()).rejects.toMatchObject({ message: expect.stringContaining(reason) });
    expect(readdirSync(folder)).toEqual([]);
    expect(await listed()).toEqual([]);
    answer = honest;
    expect((await write()).path).toBe(join(folder, 'step-8'));
  });
});

describe('a place that cannot be written', () => {
  it.each([
    ['a folder', 'taken', 'exists already: it is a folder', (path: string) => mkdirSync(path)],
    ['a file', 'taken', 'exists already: it is a file', (path: string) => writeFileSync(path, 'mine')],
    [
      'a link to nowhere',
      'taken',
      'exists already: it is a link',
      (path: string) => symlinkSync('/nowhere', path),
    ],
    ['in a folder that is not there', 'absent/adapter', 'nothing at', () => undefined],
    ['in a file', 'file/adapter', 'is not a folder', (path: string) => writeFileSync(join(path, '..'), '')],
  ])('is named: %s', async (_name, place, reason, make) => {
    const path = join(home, place);
    make(path);
    await expect(write(path)).rejects.toMatchObject({ message: expect.stringContaining(reason) });
    expect(readdirSync(home).filter((name) => name.includes('.tmp-'))).toEqual([]);
    expect(await listed()).toEqual([]);
  });

  it('must be a full path', async () => {
    await expect(write('adapter')).rejects.toMatchObject({ message: expect.stringContaining('full path') });
  });
});
