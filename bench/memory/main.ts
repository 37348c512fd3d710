// What a run is said to take, and what it takes: bytes at the peak of a step.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appRoot } from '../../electron/backend/system';
import { readArguments } from '../../electron/headless/command';
import { openLocal, type Local } from '../../electron/headless/local';
import type { Estimate, RunConfigInput } from '../../shared/contract/runs';
import { CASES, configOf, linesOf, MODELS, type Case } from './cases';
import { makeModel } from './models';

/** Share of the measured peak that an estimate may be off by. */
const MOST = 0.1;

export async function benchMemory(args: string[]): Promise<number> {
  const { values, device } = readArguments(args, { out: { type: 'string' }, only: { type: 'string' } });
  const chosen = CASES.filter(({ name }) => name.includes(values.only ?? ''));
  const home = mkdtempSync(join(tmpdir(), 'atelier-memory-'));
  const out = values.out ?? join(appRoot(), 'build/reports');
  const lines: string[] = [];
  const table = ['| | estimated, MB | measured, MB | off by |', '| --- | ---: | ---: | ---: |'];
  let failed = 0;
  try {
    for (const [name, shape] of Object.entries(MODELS)) await makeModel(shape, join(home, name), device);
    for (const each of chosen) {
      const { memory, measured } = await oneCase(each, home, device);
      const off = memory.total / measured - 1;
      const { name, aside = false } = each;
      lines.push(JSON.stringify({ name, aside, memory, measured, off }));
      console.log(lines.at(-1));
      const mb = (bytes: number) => (bytes / 1e6).toFixed(1);
      table.push(
        `| ${name}${aside ? ' (kept aside)' : ''} | ${mb(memory.total)} | ${mb(measured)} | ${(100 * off).toFixed(1)} % |`,
      );
      if (Math.abs(off) > MOST) failed++;
    }
  } finally {
    rmSync(home, { recursive: true });
  }
  const text = `${table.join('\n')}\n`;
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, 'memory.jsonl'), `${lines.join('\n')}\n`);
  writeFileSync(join(out, 'memory.md'), text);
  console.log(`\n${text}`);
  console.log(
    failed === 0
      ? `ok: all are within ${100 * MOST} %`
      : `FAILED: ${failed} of ${chosen.length} are off by more than ${100 * MOST} %`,
  );
  return failed === 0 ? 0 : 1;
}

/** Each by a backend of its own: what an estimate has left would count in the run's peak. */
async function oneCase(each: Case, home: string, device: Parameters<typeof openLocal>[0]['device']) {
  const own = mkdtempSync(join(home, 'case-'));
  const open = () => openLocal({ home: own, device });
  let local = await open();
  try {
    const config = await addTo(local, each, home, own);
    const { memory, problems } = await local.client.runs.estimate(config);
    const error = problems.find(({ level }) => level === 'error');
    if (error) throw new Error(`${each.name}: ${error.path}: ${error.message}`);
    await local.close();
    local = await open();
    return { memory, measured: await peakOf(local, config) };
  } finally {
    await local.close();
  }
}

async function addTo({ client }: Local, each: Case, home: string, own: string): Promise<RunConfigInput> {
  const model =
    each.model === 'abacus' ? { id: 'abacus' } : await client.models.add({ path: join(home, each.model) });
  const path = join(own, 'rows.jsonl');
  writeFileSync(
    path,
    linesOf(each)
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(''),
  );
  const dataset = await client.datasets.add({ path });
  return configOf(each, model.id, dataset.id);
}

async function peakOf({ client }: Local, config: RunConfigInput): Promise<number> {
  const { id } = await client.runs.start(config);
  let peak = 0;
  for await (const item of client.runs.follow({ id })) {
    if (item.kind === 'step') peak = Math.max(peak, item.metrics['perf/peak_bytes']!);
    if (item.kind === 'state' && item.status === 'failed') throw new Error(`${config.name}: ${item.message}`);
  }
  return peak;
}

export type Measured = { memory: Estimate['memory']; measured: number };
