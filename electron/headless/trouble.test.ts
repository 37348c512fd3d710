// What the real engine and the real reward host make of numbers that are too large.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FollowItem } from '../../shared/contract/runs';
import { openLocal, type Local } from './local';
import { shortRun, temporaryHome } from './testing';

let home: string;
let local: Local;
beforeAll(async () => {
  home = temporaryHome();
  local = await openLocal({ home, device: 'cpu' });
}, 120_000);
afterAll(async () => {
  await local.close();
  rmSync(home, { recursive: true });
});

/** Follows a run to its end, or to where it waits. */
async function run(reward: string, params: object) {
  const config = shortRun({ rewards: [{ code: `export default () => ${reward};` }], checkpointEvery: 1 });
  const { id } = await local.client.runs.start({ ...config, params: { ...config.params, ...params } });
  const items: FollowItem[] = [];
  for await (const item of local.client.runs.follow({ id })) {
    items.push(item);
    if (item.kind === 'state' && item.status === 'paused') break;
  }
  const state = items.findLast((item) => item.kind === 'state')!;
  const codes = items.flatMap((item) => (item.kind === 'event' ? [item.code] : []));
  return { id, state, codes };
}

/** All numbers of the adapters and optimisers that a run has saved. */
function saved(id: string): Float32Array[] {
  const folder = join(home, 'runs', id, 'checkpoints');
  return readdirSync(folder).flatMap((step) =>
    ['adapter_model.safetensors', 'optimizer.safetensors'].map((name) => {
      const bytes = readFileSync(join(folder, step, name));
      const data = bytes.subarray(8 + Number(bytes.readBigUInt64LE()));
      return new Float32Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.length));
    }),
  );
}

describe('rewards too large', () => {
  it('for the loss: updates are left out, the run has failed and what it saved is finite', async () => {
    const { id, state, codes } = await run('Math.random() < 0.5 ? 3e38 : 0', { scale: 'none' });
    expect(state).toMatchObject({ status: 'failed', message: expect.stringContaining('not finite 2 times') });
    expect(codes.filter((code) => code === 'non_finite')).toHaveLength(2);
    const numbers = saved(id);
    expect(numbers.length).toBeGreaterThan(0);
    for (const array of numbers) expect(array.every((value) => Number.isFinite(value))).toBe(true);
  }, 120_000);

  it('for the engine: no reward at all, and the run asks', async () => {
    const { id, state } = await run('Math.random() < 0.5 ? 1e308 : 0', {});
    expect(state).toMatchObject({ status: 'paused', message: expect.stringContaining('1e+308, beyond') });
    await local.client.runs.stop({ id });
  }, 120_000);

  it('a learning rate out of range is refused by its field', async () => {
    await expect(run('1', { learningRate: 1e6 })).rejects.toMatchObject({
      details: { path: 'params.learningRate' },
    });
  });
});
