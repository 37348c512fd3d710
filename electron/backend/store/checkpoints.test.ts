import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  checkCheckpoint,
  latestCheckpoint,
  sweepCheckpoints,
  writeCheckpoint,
  type CheckpointRequest,
} from './checkpoints';
import { files, type Files } from './files';
import { RunStore } from './run-store';

let folder: string;
let store: RunStore;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'atelier-checkpoint-'));
  store = RunStore.open(folder);
});
afterEach(() => {
  store.close();
  rmSync(folder, { recursive: true });
});

function request(step: number, more: Partial<CheckpointRequest> = {}): CheckpointRequest {
  return {
    step,
    reward: null,
    belongsTo: { model: 'm' },
    expectedBytes: 1000,
    keep: 2,
    async fill(to) {
      writeFileSync(join(to, 'adapter_model.safetensors'), `weights ${step}`);
      writeFileSync(join(to, 'optimizer.safetensors'), `moments ${step}`);
    },
    ...more,
  };
}
const inFolder = () => readdirSync(join(folder, 'checkpoints')).sort();
const newest = async () => (await latestCheckpoint(folder, store)).checkpoint?.step ?? null;

/** The file layer, dying at the n-th change: what a process killed there leaves behind. */
function dyingAt(n: number): Files {
  let count = 0;
  const wrap =
    <A extends unknown[]>(operation: (...args: A) => Promise<void>) =>
    async (...args: A) => {
      if (count++ >= n) throw new Error('killed');
      await operation(...args);
    };
  return {
    mkdir: wrap(files.mkdir),
    write: wrap(files.write),
    sync: wrap(files.sync),
    rename: wrap(files.rename),
    remove: wrap(files.remove),
    freeBytes: files.freeBytes,
  };
}

describe('a checkpoint', () => {
  it('keeps the last ones and the best, and prunes the others after its own commit', async () => {
    const rewards = [0.1, 0.9, 0.2, 0.3, 0.4];
    for (const [k, reward] of rewards.entries())
      await writeCheckpoint(folder, store, request(k + 1, { reward }));
    expect(store.checkpoints().map((c) => c.step)).toEqual([2, 4, 5]);
    expect(inFolder()).toEqual(['step-00000002', 'step-00000004', 'step-00000005']);
    expect(await newest()).toBe(5);
  });

  it('is whole or absent wherever the process dies, and the one before stays', async () => {
    await writeCheckpoint(folder, store, request(1));
    await writeCheckpoint(folder, store, request(2));
    const outcomes: (number | null)[] = [];
    for (let n = 0; ; n++) {
      const died = await writeCheckpoint(folder, store, request(3), dyingAt(n)).then(
        () => false,
        () => true,
      );
      // the next process: a new connection, a sweep, then the choice
      store.close();
      store = RunStore.open(folder);
      await sweepCheckpoints(folder, store);
      outcomes.push(await newest());
      expect(inFolder().filter((name) => name.startsWith('.tmp'))).toEqual([]);
      expect(inFolder()).toEqual(store.checkpoints().map((c) => c.folder));
      if (!died) break;
    }
    expect(outcomes.at(-1)).toBe(3);
    expect(outcomes.every((step) => step === 2 || step === 3)).toBe(true);
    expect(outcomes.filter((step) => step === 2).length).toBeGreaterThan(7);
  });

  it('damaged on the disk is passed over for the one before', async () => {
    for (const step of [1, 2]) await writeCheckpoint(folder, store, request(step));
    writeFileSync(join(folder, 'checkpoints/step-00000002/optimizer.safetensors'), 'momentz 2');
    expect(await latestCheckpoint(folder, store)).toMatchObject({ checkpoint: { step: 1 }, passed: [2] });
    truncateSync(join(folder, 'checkpoints/step-00000001/adapter_model.safetensors'), 3);
    await sweepCheckpoints(folder, store);
    expect(await newest()).toBeNull();
  });

  it('damaged on the disk is refused by the step that it is of', async () => {
    await writeCheckpoint(folder, store, request(1));
    const place = join(folder, 'checkpoints/step-00000001');
    await checkCheckpoint(place, 1, 'hashes');
    writeFileSync(join(place, 'optimizer.safetensors'), 'momentz 1');
    await checkCheckpoint(place, 1, 'sizes');
    const damaged = { code: 'invalid_file', message: expect.stringContaining('step 1 is damaged') };
    await expect(checkCheckpoint(place, 1, 'hashes')).rejects.toMatchObject(damaged);
    rmSync(place, { recursive: true });
    await expect(checkCheckpoint(place, 1, 'sizes')).rejects.toMatchObject(damaged);
  });

  it('does not begin without room, says so, and loses nothing', async () => {
    await writeCheckpoint(folder, store, request(1));
    const full = { ...files, freeBytes: () => Promise.resolve(5_000_000) };
    await expect(writeCheckpoint(folder, store, request(2), full)).rejects.toMatchObject({
      code: 'disk_full',
    });
    expect(inFolder()).toEqual(['step-00000001']);
    await writeCheckpoint(folder, store, request(2));
    expect(await newest()).toBe(2);
  });
});
