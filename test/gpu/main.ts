// npm run gpu-proof: what a GPU machine gives, as JSON: device, versions, conformance, three GRPO steps.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { appCommit } from '../../electron/backend/system';
import { readArguments } from '../../electron/headless/command';
import { openLocal } from '../../electron/headless/local';
import { engineModule, type Device } from '../../native';
import { demo } from '../../shared/contract/demo';

const { values, device } = readArguments(process.argv.slice(2), {
  out: { type: 'string' },
  /** Files of the fixtures that do not depend on the device need packages from a registry: leave them out. */
  item: { type: 'string', multiple: true },
});
const source = import.meta.url.endsWith('.ts');
const runner = source ? ['--import', 'tsx'] : [];
if (device === 'cpu') {
  process.stderr.write(
    'gpu-proof: the device is the CPU, where there is nothing to prove.\n' +
      'On a machine with an NVIDIA GPU: npm run gpu-proof -- --device cuda\n',
  );
  process.exit(2);
}

const there = engineModule(device)
  .devices()
  .find((one) => one.device === device);
const proof = {
  device: there,
  mlx: engineModule(device).mlxVersion,
  commit: appCommit(),
  node: process.versions.node,
  conformance: conformance(device, values.item ?? []),
  grpo: await threeSteps(device),
  devices: together(device, there?.units.length ?? 0),
};
const text = JSON.stringify(proof, null, 2);
if (values.out) writeFileSync(values.out, text);
process.stdout.write(`${text}\n`);
process.exit(
  proof.conformance.failed.length === 0 && proof.grpo.steps.length === 3 && !('wrong' in proof.devices)
    ? 0
    : 1,
);

/** All GPUs on one step, against one of them (bench/devices.ts); skipped where there is one. */
function together(on: Device, count: number): object {
  if (count < 2) return { skipped: `the machine has ${count} such device: nothing can work together` };
  const program = fileURLToPath(new URL(source ? '../../bench/run.ts' : './bench.js', import.meta.url));
  const devices = Array.from({ length: count }, (_, k) => k).join(',');
  const args = [...runner, program, 'devices', '--json', '--device', on, '--devices', devices];
  try {
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as object;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return { wrong: stderr, ...(stdout === '' ? {} : { found: JSON.parse(stdout) as unknown }) };
  }
}

/** In a process of its own: it loads MLX with its own settings. */
function conformance(on: Device, items: string[]) {
  const program = fileURLToPath(
    new URL(source ? '../../conformance/run.ts' : './conformance.js', import.meta.url),
  );
  const args = [
    ...runner,
    program,
    '--json',
    ...['--device', on],
    ...items.flatMap((item) => ['--item', item]),
    ...['--fixtures', 'conformance/fixtures'],
  ];
  let output: string;
  try {
    output = execFileSync(process.execPath, args, {
      maxBuffer: 64 << 20,
      encoding: 'utf8',
    });
  } catch (error) {
    // Exit code 1 says that a line failed: the lines are there all the same.
    output = (error as { stdout: string }).stdout;
  }
  const { lines, summary } = JSON.parse(output) as {
    lines: { path: string; status: string }[];
    summary: string;
  };
  return { summary, failed: lines.filter(({ status }) => status === 'fail') };
}

/** The demo's run, cut after three steps. */
async function threeSteps(on: Device) {
  const home = mkdtempSync(join(tmpdir(), 'atelier-proof-'));
  const local = await openLocal({ home, device: on });
  const { id } = await local.client.runs.start({
    ...demo,
    params: { ...demo.params, steps: 3 },
    checkpointEvery: 3,
  });
  const steps: Record<string, number>[] = [];
  const evaluations: Record<string, number>[] = [];
  for await (const row of local.client.runs.follow({ id })) {
    if (row.kind === 'step') steps.push(row.metrics);
    if (row.kind === 'evaluation') evaluations.push(row.metrics);
  }
  const { status, message } = await local.client.runs.get({ id });
  await local.close();
  rmSync(home, { recursive: true, force: true });
  return { status, message, steps, evaluations };
}
