import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { LeftOut } from '../../../shared/contract/datasets';
import { RunConfig, type FollowItem } from '../../../shared/contract/runs';
import { scriptedEngine } from '../testing/scripted-engine';
import { grpoRun, isStatus, openBackend, scriptedSources, until, type Backend } from './testing';

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
async function reopen(more: Parameters<typeof openBackend>[1] = {}): Promise<void> {
  await backend.close();
  backend = await openBackend(home, more);
}
const ended = isStatus('completed', 'stopped', 'failed');
const stored = (items: FollowItem[]) =>
  items.filter((item) => item.kind !== 'progress' && item.kind !== 'live');

/** An engine that stands still at its n-th generation until `release`. */
function heldAt(n: number) {
  let reached!: () => void;
  let release!: () => void;
  const there = new Promise<void>((resolve) => (reached = resolve));
  const held = new Promise<void>((resolve) => (release = resolve));
  const engine = scriptedEngine({
    beforeGenerate: (call) => {
      if (call !== n) return undefined;
      reached();
      return held;
    },
  });
  return { engine, there, release };
}

describe('a run over the wire', () => {
  it('is started, followed to its end, and read', async () => {
    const { id, queued } = await backend.client.runs.start(grpoRun());
    expect(queued).toBe(false);
    expect(id).toMatch(/^sums-with-care-[a-z0-9]{6}$/);
    const items = await until(backend.client.runs.follow({ id }), () => false);
    expect(items.some((item) => item.kind === 'progress')).toBe(true);
    expect(items.filter((item) => item.kind === 'step')).toHaveLength(8);
    expect(stored(items).at(-1)).toMatchObject({ kind: 'state', status: 'completed' });

    const [summary] = await backend.client.runs.list({});
    expect(summary).toMatchObject({
      id,
      status: 'completed',
      step: 8,
      steps: 8,
      modelName: 'Scripted',
      queue: null,
    });
    expect(summary!.headline.points).toHaveLength(8);
    expect(summary!.heldOut.after!).toBeGreaterThan(summary!.heldOut.before!);
    const run = await backend.client.runs.get({ id });
    expect(run.config.params).toMatchObject({ steps: 8, clipHigh: 0.28 });
    expect(run.rewards[0]!.code).toContain('export default');
    expect(run.provenance).toMatchObject({ version: 'test', model: 'scripted' });
    expect(readdirSync(run.folder).sort()).toEqual(
      expect.arrayContaining(['checkpoints', 'config.yaml', 'reward-exact.ts', 'run.json', 'run.sqlite']),
    );

    const { rollouts } = await backend.client.runs.rollouts({
      id,
      sort: 'reward',
      descending: true,
      limit: 1,
    });
    const tokens = await backend.client.runs.tokens({ id, rollout: rollouts[0]!.id });
    expect(tokens.pieces.join('')).toBe(`${rollouts[0]!.completion}\n`);
    expect((await backend.client.runs.groups({ id, step: 1 })).total).toBe(4);
    expect((await backend.client.runs.checkpoints({ id })).map((c) => c.step)).toContain(8);
  });

  it('gives the same rows to whoever follows, from wherever', async () => {
    const { id } = await backend.client.runs.start(grpoRun());
    const whole = stored(await until(backend.client.runs.follow({ id }), () => false));
    const again = stored(await until(backend.client.runs.follow({ id }), () => false));
    expect(again).toEqual(whole);
    const seq = (whole[5] as { seq: number }).seq;
    expect(stored(await until(backend.client.runs.follow({ id, after: seq }), () => false))).toEqual(
      whole.slice(6),
    );
  });

  it('loses nothing to a reader that leaves and comes back in the middle', async () => {
    const { id } = await backend.client.runs.start(grpoRun());
    const first = stored(
      await until(backend.client.runs.follow({ id }), (item) => item.kind === 'step' && item.step === 3),
    );
    const rest = stored(
      await until(
        backend.client.runs.follow({ id, after: (first.at(-1) as { seq: number }).seq }),
        () => false,
      ),
    );
    const seqs = [...first, ...rest].map((item) => (item as { seq: number }).seq);
    expect(seqs).toEqual(seqs.map((_, k) => k + 1));
  });

  it('can be written as YAML and read back the same', async () => {
    const { yaml } = await backend.client.runs.yaml(grpoRun());
    expect(RunConfig.parse(parse(yaml))).toEqual(RunConfig.parse(grpoRun()));
    const { id } = await backend.client.runs.start(grpoRun());
    await until(backend.client.runs.follow({ id }), ended);
    const { folder } = await backend.client.runs.get({ id });
    const again = RunConfig.parse(parse(readFileSync(join(folder, 'config.yaml'), 'utf8')));
    expect(again.params).toMatchObject({ steps: 8 });
  });

  it('tells of rows that are left out', async () => {
    const { id } = await backend.client.runs.start(grpoRun({ data: { dataset: 'sums-with-faults' } }));
    const items = await until(backend.client.runs.follow({ id }), ended);
    expect(items).toContainEqual(
      expect.objectContaining({
        kind: 'event',
        code: 'rows_left_out',
        message: expect.stringContaining('line 14'),
      }),
    );
  });

  it('tells of settings that do nothing', async () => {
    const params = { ...grpoRun().params, lowestRate: 0.5 };
    const { id } = await backend.client.runs.start(grpoRun({ params }));
    expect(await until(backend.client.runs.follow({ id }), ended)).toContainEqual(
      expect.objectContaining({
        level: 'warning',
        code: 'setting',
        message: 'Lowest rate does nothing: Schedule is "Constant".',
      }),
    );
  });

  it('tells of held-out rows that are left out, and is refused where all of them are', async () => {
    const left: LeftOut[] = [{ reason: 'too-long', count: 1, line: 3, message: 'too long' }];
    let usable = 2;
    await reopen({
      sources: {
        rows: async (kind, dataset, options) => {
          const all = await scriptedSources.rows(kind, dataset, options);
          return dataset === 'held'
            ? { ...all, rows: { length: usable, at: (k) => all.rows.at(k) }, left }
            : all;
        },
      },
    });
    const { id } = await backend.client.runs.start(grpoRun());
    const items = await until(backend.client.runs.follow({ id }), ended);
    expect(items).toContainEqual(
      expect.objectContaining({
        code: 'rows_left_out',
        message: '1 of 3 held-out rows are left out. The first, line 3: too long',
      }),
    );
    usable = 0;
    await expect(backend.client.runs.start(grpoRun())).rejects.toMatchObject({
      code: 'invalid_data',
      message: 'No row of "held" can be used. Line 3: too long',
      details: { path: 'data.heldOut' },
    });
  });
});

describe('what is wrong with a configuration', () => {
  it.each([
    ['algorithm', { algorithm: 'gropo' }],
    ['params.groupSize', { params: { groupSize: 1 } }],
    ['params', { params: { stepz: 1 } }],
    ['params.maxNewTokens', { params: { maxNewTokens: 256 } }],
    ['rewards', { rewards: [] }],
  ])('is named by its field: %s', async (path, more) => {
    await expect(backend.client.runs.start(grpoRun(more))).rejects.toMatchObject({
      code: 'invalid_input',
      details: { path },
    });
    expect(await backend.client.runs.list({})).toEqual([]);
  });
});

describe('the queue', () => {
  it('lets one work; a second start waits, says so, and follows', async () => {
    const { engine, there, release } = heldAt(3);
    await reopen({ engine });
    const first = await backend.client.runs.start(grpoRun({ name: 'one' }));
    await there;
    const second = await backend.client.runs.start(grpoRun({ name: 'two' }));
    const third = await backend.client.runs.start(grpoRun({ name: 'three' }));
    expect([first.queued, second.queued, third.queued]).toEqual([false, true, true]);
    const places = Object.fromEntries(
      (await backend.client.runs.list({})).map((run) => [run.name, [run.status, run.queue]]),
    );
    expect(places).toEqual({ one: ['running', null], two: ['queued', 1], three: ['queued', 2] });
    await backend.client.runs.stop({ id: third.id });
    release();
    const items = await until(backend.client.runs.follow({ id: second.id }), ended);
    expect(items.at(-1)).toMatchObject({ status: 'completed' });
    expect((await backend.client.runs.get({ id: third.id })).status).toBe('stopped');
  });

  it('refuses to remove what works, and removes what has ended', async () => {
    const { engine, there, release } = heldAt(3);
    await reopen({ engine });
    const { id } = await backend.client.runs.start(grpoRun());
    await there;
    await expect(backend.client.runs.remove({ id })).rejects.toMatchObject({ code: 'conflict' });
    await backend.client.runs.stop({ id });
    release();
    await until(backend.client.runs.follow({ id }), ended);
    await backend.client.runs.rename({ id, name: 'Another name' });
    expect((await backend.client.runs.get({ id })).name).toBe('Another name');
    await backend.client.runs.remove({ id });
    expect(await backend.client.runs.list({})).toEqual([]);
    await expect(backend.client.runs.get({ id })).rejects.toMatchObject({ code: 'not_found' });
  });

  it('pauses and resumes', async () => {
    const { engine, there, release } = heldAt(5);
    await reopen({ engine });
    const { id } = await backend.client.runs.start(grpoRun());
    await there;
    await backend.client.runs.pause({ id });
    release();
    await until(backend.client.runs.follow({ id }), isStatus('paused'));
    await backend.client.runs.resume({ id });
    const items = await until(backend.client.runs.follow({ id }), ended);
    expect(items.at(-1)).toMatchObject({ status: 'completed' });
    await expect(backend.client.runs.pause({ id })).rejects.toMatchObject({ code: 'conflict' });
    await expect(backend.client.runs.resume({ id })).rejects.toMatchObject({ code: 'conflict' });
  });
});

it('a stopped run goes on where it was stopped', async () => {
  const { engine, there, release } = heldAt(2 + 5);
  await reopen({ engine });
  const { id } = await backend.client.runs.start(grpoRun());
  await there;
  await backend.client.runs.stop({ id });
  release();
  await until(backend.client.runs.follow({ id }), isStatus('stopped'));
  await until(backend.client.runs.follow({ id }), () => false);
  await backend.client.runs.resume({ id });
  const items = await until(backend.client.runs.follow({ id }), isStatus('completed', 'failed'));
  expect(items.at(-1)).toMatchObject({ status: 'completed' });
  expect(items.filter((item) => item.kind === 'step')).toHaveLength(8);
  expect(engine.calls.step).toBe(8);
});

describe('after the backend ended', () => {
  async function startAndClose(): Promise<string> {
    const { engine, there, release } = heldAt(2 + 5);
    await reopen({ engine });
    const { id } = await backend.client.runs.start(grpoRun());
    await there;
    const closing = backend.runs.close();
    release();
    await closing;
    await backend.close();
    return id;
  }

  it('a run shows interrupted and is resumed on request, from its last checkpoint', async () => {
    const id = await startAndClose();
    backend = await openBackend(home);
    expect((await backend.client.runs.get({ id })).status).toBe('interrupted');
    await backend.client.runs.resume({ id });
    const items = await until(backend.client.runs.follow({ id }), ended);
    expect(items.at(-1)).toMatchObject({ status: 'completed' });
    expect(items).toContainEqual(expect.objectContaining({ code: 'resumed', step: 3 }));
    expect(backend.engine.calls.step).toBe(5);
  });

  it('a run of an older version, whose algorithm had fewer settings, goes on from its checkpoint', async () => {
    const id = await startAndClose();
    const folder = join(home, 'runs', id);
    const edit = <T>(file: string, change: (value: T) => void) => {
      const value = JSON.parse(readFileSync(join(folder, file), 'utf8')) as T;
      change(value);
      writeFileSync(join(folder, file), JSON.stringify(value));
    };
    let settings = '';
    edit<{ config: { params: Record<string, unknown> } }>('run.json', ({ config: { params } }) => {
      for (const key of ['objective', 'ratioCap', 'resample']) delete params[key];
      settings = JSON.stringify(Object.entries(params).sort(([a], [b]) => (a < b ? -1 : 1)));
    });
    for (const step of readdirSync(join(folder, 'checkpoints'))) {
      edit<{ belongsTo: Record<string, string> }>(`checkpoints/${step}/manifest.json`, ({ belongsTo }) => {
        belongsTo['settings'] = createHash('sha256').update(settings).digest('hex');
      });
    }
    backend = await openBackend(home);
    await backend.client.runs.resume({ id });
    const items = await until(backend.client.runs.follow({ id }), ended);
    expect(items.at(-1)).toMatchObject({ status: 'completed' });
    expect(backend.engine.calls.step).toBe(5);
  });

  it('a folder that cannot be read is listed with the reason, and can be removed', async () => {
    const { id } = await backend.client.runs.start(grpoRun());
    await until(backend.client.runs.follow({ id }), ended);
    await backend.close();
    const runs = join(home, 'runs');
    for (const name of ['no-record', 'newer', 'bad-store', 'half-written']) mkdirSync(join(runs, name));
    const record = readFileSync(join(runs, id, 'run.json'), 'utf8');
    writeFileSync(join(runs, 'newer', 'run.json'), JSON.stringify({ format: 3 }));
    writeFileSync(join(runs, 'bad-store', 'run.json'), record);
    writeFileSync(join(runs, 'bad-store', 'run.sqlite'), 'x'.repeat(5000));
    writeFileSync(join(runs, 'half-written', 'run.json'), record.slice(0, 100));
    backend = await openBackend(home);
    const list = await backend.client.runs.list({});
    const corrupt = Object.fromEntries(
      list.filter((r) => r.status === 'corrupt').map((r) => [r.id, r.message]),
    );
    expect(Object.keys(corrupt).sort()).toEqual(['bad-store', 'half-written', 'newer', 'no-record']);
    expect(corrupt['newer']).toContain('newer Atelier');
    expect(corrupt['half-written']).toContain('run.json');
    expect(list.find((r) => r.id === id)).toMatchObject({ status: 'completed' });
    await expect(backend.client.runs.get({ id: 'newer' })).rejects.toMatchObject({ code: 'invalid_file' });
    await backend.client.runs.remove({ id: 'newer' });
    expect(readdirSync(runs)).not.toContain('newer');
  });

  it('queued runs go on by themselves', async () => {
    const { engine, there, release } = heldAt(3);
    await reopen({ engine });
    await backend.client.runs.start(grpoRun({ name: 'one' }));
    await there;
    const { id } = await backend.client.runs.start(grpoRun({ name: 'two' }));
    const closing = backend.runs.close();
    release();
    await closing;
    await backend.close();
    backend = await openBackend(home);
    const items = await until(backend.client.runs.follow({ id }), ended);
    expect(items.at(-1)).toMatchObject({ status: 'completed' });
  });
});

describe('a run that fails', () => {
  it('says what, and can be tried again', async () => {
    const engine = scriptedEngine({
      beforeStep: (call) => {
        if (call === 4) throw Object.assign(new Error('strange'), { code: 'odd' });
      },
    });
    await reopen({ engine });
    const { id } = await backend.client.runs.start(grpoRun());
    const items = await until(backend.client.runs.follow({ id }), () => false);
    expect(items.at(-1)).toMatchObject({ status: 'failed', message: expect.stringContaining('strange') });
    await backend.client.runs.resume({ id });
    const again = await until(
      backend.client.runs.follow({ id, after: (stored(items).at(-1) as { seq: number }).seq }),
      ended,
    );
    expect(again.at(-1)).toMatchObject({ status: 'completed' });
  });
});
