import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { FollowItem } from '../../shared/contract/runs';
import { shortRun, temporaryHome, Visitor } from './testing';
import { startWebHost, type WebHost, type WebHostOptions } from './web-host';

const hosts: { host: WebHost; home: string }[] = [];
afterEach(async () => {
  for (const { host, home } of hosts.splice(0)) {
    await host.stop();
    rmSync(home, { recursive: true, force: true });
  }
});

async function start(more: Partial<WebHostOptions> = {}) {
  const home = more.home ?? temporaryHome();
  const addresses: string[] = [];
  const host = await startWebHost({
    home,
    device: 'cpu',
    roots: [],
    port: 0,
    onAddress: (address) => addresses.push(address),
    ...more,
  });
  hosts.push({ host, home });
  return { host, home, addresses };
}

const lastAdapter = (home: string, id: string, step: number) =>
  readFileSync(
    join(home, 'runs', id, `checkpoints/step-${String(step).padStart(8, '0')}/adapter_model.safetensors`),
  );
const steps = (items: FollowItem[]) => items.flatMap((item) => (item.kind === 'step' ? [item.step] : []));

/** Kills the backend once a step has been seen; gives every item to the end. */
async function runWithKill(
  visitor: Visitor,
  host: WebHost,
  id: string,
  atStep: number | null,
): Promise<FollowItem[]> {
  const items: FollowItem[] = [];
  let killed = false;
  for await (const item of visitor.follow(id)) {
    items.push(item);
    if (item.kind === 'step' && item.step === atStep && !killed) {
      killed = true;
      process.kill(host.pid!, 'SIGKILL');
    }
  }
  return items;
}

describe('the web host', () => {
  it('brings a killed backend back on its port; the page goes on and the run ends as if nothing had been', async () => {
    const { host, home, addresses } = await start();
    const visitor = await Visitor.open(addresses[0]!);
    const client = await visitor.connect();
    const first = await client.runs.start(shortRun({ name: 'killed' }));
    const killedPid = host.pid;
    const items = await runWithKill(visitor, host, first.id, 3);
    expect(host.pid).not.toBe(killedPid);
    expect(items.at(-1)).toMatchObject({ kind: 'state', status: 'completed' });
    const resumed = items.find((item) => item.kind === 'event' && item.code === 'resumed');
    expect(resumed).toMatchObject({ step: 2 });
    // what stood before the checkpoint came once, what lay after it came again
    expect(steps(items)).toEqual([1, 2, 3, 3, 4, 5, 6]);

    const twin = await (await visitor.connect()).runs.start(shortRun({ name: 'twin' }));
    const whole = await runWithKill(visitor, host, twin.id, null);
    expect(whole.at(-1)).toMatchObject({ status: 'completed' });
    expect(lastAdapter(home, first.id, 6).equals(lastAdapter(home, twin.id, 6))).toBe(true);

    // the same, but the resumed optimiser has forgotten its moments
    const forgetful = await (await visitor.connect()).runs.start(shortRun({ name: 'forgetful' }));
    const asked = await visitor.connect();
    for await (const item of asked.runs.follow({ id: forgetful.id })) {
      if (item.kind === 'step' && item.step === 3) {
        await asked.runs.stop({ id: forgetful.id });
        break;
      }
    }
    for await (const item of visitor.follow(forgetful.id)) void item;
    const checkpoint = (await asked.runs.checkpoints({ id: forgetful.id })).at(-1)!.step;
    zeroMoments(join(home, 'runs', forgetful.id, `checkpoints/step-${String(checkpoint).padStart(8, '0')}`));
    await asked.runs.resume({ id: forgetful.id });
    for await (const item of visitor.follow(forgetful.id)) void item;
    expect(lastAdapter(home, forgetful.id, 6).equals(lastAdapter(home, twin.id, 6))).toBe(false);
  }, 600_000);

  it('says when its port is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    await expect(start({ port })).rejects.toMatchObject({
      message: `Port ${port} is in use.`,
      hint: expect.stringContaining('--port'),
    });
    other.close();
  });

  it('says when another has its data folder', async () => {
    const { home } = await start();
    await expect(start({ home })).rejects.toMatchObject({
      message: expect.stringContaining('Another Atelier'),
    });
  });

  it('gives a new address for each that was used', async () => {
    const { addresses } = await start();
    await Visitor.open(addresses[0]!);
    while (addresses.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    await expect(Visitor.open(addresses[0]!)).rejects.toThrow('403');
    await Visitor.open(addresses[1]!);
  });
});

/** Sets the moments of a stored optimiser to 0, as a checkpoint without them would. */
function zeroMoments(folder: string): void {
  const file = join(folder, 'optimizer.safetensors');
  const bytes = readFileSync(file);
  const headerBytes = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + headerBytes).toString()) as Record<
    string,
    { dtype: string; data_offsets: [number, number] }
  >;
  for (const [name, tensor] of Object.entries(header)) {
    if (name === '__metadata__' || tensor.dtype !== 'F32') continue;
    bytes.fill(0, 8 + headerBytes + tensor.data_offsets[0], 8 + headerBytes + tensor.data_offsets[1]);
  }
  writeFileSync(file, bytes);
  const manifestFile = join(folder, 'manifest.json');
  const manifest = JSON.parse(readFileSync(manifestFile, 'utf8')) as {
    files: { name: string; sha256: string }[];
  };
  manifest.files.find(({ name }) => name === 'optimizer.safetensors')!.sha256 = createHash('sha256')
    .update(bytes)
    .digest('hex');
  writeFileSync(manifestFile, JSON.stringify(manifest));
}
