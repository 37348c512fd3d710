// Runs over several devices, from the command and its backend to a checkpoint and an export. On the CPU each device is
// a process, and everything but what they meet through is as on GPUs.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { ExportProgress, FollowItem } from '../../shared/contract/runs';
import type { HostSpawn, Spawned } from '../supervise/host-spawn';
import { nodeSpawn } from '../supervise/node-spawn';
import { openLocal, type Local } from './local';
import { follow, shortRun, startCommand, temporaryHome } from './testing';

const home = temporaryHome();
let local: Local;
/** Processes of the devices, those of an engine that ended too. */
let ranks: Spawned[] = [];

const spawn: HostSpawn = async (kind) => {
  const process = await nodeSpawn(kind);
  if (kind === 'rank') ranks.push(process);
  return process;
};
async function open(devices?: number[]): Promise<void> {
  ranks = [];
  local = await openLocal({ home, device: 'cpu', devices, spawn });
}
beforeAll(() => () => rmSync(home, { recursive: true }));
afterEach(() => local.close());

const config = (more = {}) => shortRun({ checkpointEvery: 1, ...more });
const endOf = (items: FollowItem[]) => items.findLast((item) => item.kind === 'state');
const steps = (items: FollowItem[]) => items.flatMap((item) => (item.kind === 'step' ? [item.metrics] : []));

/** The adapter and optimiser of a run's last checkpoint. */
function saved(id: string): Buffer[] {
  const folder = join(home, 'runs', id, 'checkpoints');
  const last = readdirSync(folder).sort().at(-1)!;
  return ['adapter_model.safetensors', 'optimizer.safetensors'].map((name) =>
    readFileSync(join(folder, last, name)),
  );
}

async function run(more = {}): Promise<{ id: string; items: FollowItem[] }> {
  const { id } = await local.client.runs.start(config(more));
  return { id, items: await follow(local, id) };
}

describe('a run on two devices', () => {
  let whole: string;

  it('ends as on one, with an adapter that is exported', async () => {
    await open();
    const one = await run();
    await local.close();
    await open([0, 1]);
    const two = await run();
    whole = two.id;
    expect(ranks).toHaveLength(2);
    expect(endOf(two.items)).toMatchObject({ status: 'completed' });
    expect((await local.client.runs.get({ id: whole })).provenance).toMatchObject({ devices: '0, 1' });
    // the same answers, so the same rewards and loss
    const [a, b] = [steps(one.items)[0]!, steps(two.items)[0]!];
    for (const key of Object.keys(a).filter((name) => !/^(perf|time|memory)\//.test(name)))
      expect(b[key], key).toBeCloseTo(a[key]!, 4);
    let last: ExportProgress | undefined;
    for await (const item of local.client.runs.export({ id: whole, as: { kind: 'adapter' } })) last = item;
    expect(last).toMatchObject({ kind: 'done', verified: true });
  }, 240_000);

  it('fails with the name of the device whose process ended, and goes on from its checkpoint', async () => {
    await open([0, 1]);
    const { id } = await local.client.runs.start(config());
    await follow(local, id, (item) => item.kind === 'checkpoint' && item.step === 2);
    ranks[1]!.kill('SIGKILL');
    const failed = endOf(await follow(local, id));
    expect(failed).toMatchObject({
      status: 'failed',
      message: expect.stringContaining('CPU process 1 ended (SIGKILL)'),
    });
    // the backend is there, and makes another engine
    await local.client.runs.resume({ id });
    expect(endOf(await follow(local, id))).toMatchObject({ status: 'completed' });
    expect(ranks).toHaveLength(4);
    for (const [k, bytes] of saved(whole).entries()) expect(saved(id)[k]!.equals(bytes)).toBe(true);
  }, 240_000);

  it('is stopped like any other', async () => {
    await open([0, 1]);
    const { id } = await local.client.runs.start(config({ params: { ...config().params, steps: 60 } }));
    await follow(local, id, (item) => item.kind === 'step');
    await local.client.runs.stop({ id });
    expect(endOf(await follow(local, id))).toMatchObject({ status: 'stopped' });
  }, 120_000);

  it('is estimated by what each device has', async () => {
    await open([0, 1]);
    const { memory, devices, problems } = await local.client.runs.estimate(config());
    expect(devices).toBe(2);
    expect(problems.filter(({ level }) => level === 'error')).toEqual([]);
    await local.close();
    await open();
    const one = await local.client.runs.estimate(config());
    expect(memory.weights).toBe(one.memory.weights);
  }, 120_000);
});

describe('the choice of devices', () => {
  it('in the settings takes another engine as soon as nobody uses this one', async () => {
    await open();
    const settings = await local.client.system.settings({});
    expect((await local.client.system.info({})).workingOn).toBe(null);
    await local.client.system.saveSettings({ ...settings, devices: [1, 0] });
    expect((await local.client.system.info({})).workingOn).toEqual([1, 0]);
    await expect(local.client.system.saveSettings({ ...settings, devices: [0, 50] })).rejects.toMatchObject({
      code: 'device_unavailable',
      message: expect.stringContaining('There is no CPU process 50'),
    });
    await local.client.system.saveSettings(settings);
    expect((await local.client.system.info({})).workingOn).toBe(null);
  });

  it('on the command line runs on them, or says why not before anything begins', async () => {
    await open();
    await local.close();
    const file = join(home, 'run.yaml');
    writeFileSync(file, stringify(config({ params: { ...config().params, steps: 4 } })));
    const { ended } = startCommand(home, ['run', file, '--devices', '0,1']);
    expect(await ended).toMatchObject({ code: 0, out: expect.stringContaining('completed') });
    for (const [devices, message] of [
      ['0,1,0', 'devices: 0 is named twice'],
      ['0,99', 'There is no CPU process 99. Here: 0 to 7'],
      ['first', '--devices: "first" is not a list of numbers.'],
      ['0,', '--devices: "0," is not a list of numbers.'],
    ] as const) {
      const { ended: refused } = startCommand(home, ['run', file, '--devices', devices]);
      expect(await refused).toMatchObject({ code: 1, error: expect.stringContaining(message) });
    }
  }, 120_000);
});
