import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLocal, type Local } from '../../electron/headless/local';
import { showRun, type Screen } from '../../electron/headless/terminal-run';
import type { Device } from '../../native';
import type { RunConfigInput } from '../../shared/contract/runs';
import { CASES, dataOf, MODEL, type Case } from './cases';

/** Processor seconds that a run may take, its teacher's not counted. */
const LIMIT = 180;

/** A line of learn.jsonl. */
export interface OneRun {
  case: string;
  algorithm: string;
  seed: number;
  measure: string;
  margin: number;
  before: number;
  after: number;
  /** Wall clock, and of this process's processors. */
  seconds: number;
  processorSeconds: number;
  /** The algorithm's headline metric, a number a step; NaN where a step had none. */
  metric: string;
  curve: number[];
  /** null: it learnt. */
  fault: string | null;
}

const silent: Screen = { write: () => undefined, isTerminal: false };

/** Trains a case from a seed. A run that fails is a fault too: the others go on. */
export async function oneRun(device: Device, name: string, seed: number): Promise<OneRun> {
  const one = CASES[name]!;
  const home = mkdtempSync(join(tmpdir(), 'atelier-learn-'));
  const about = { case: name, algorithm: one.algorithm, seed, measure: one.measure, margin: one.margin };
  let started = performance.now();
  let cpu = process.cpuUsage();
  const seconds = () => {
    const { user, system } = process.cpuUsage(cpu);
    return { seconds: (performance.now() - started) / 1000, processorSeconds: (user + system) / 1e6 };
  };
  try {
    const local = await openLocal({ home, device });
    try {
      const teacher = one.taughtBy === undefined ? null : await taught(local, one.taughtBy, seed);
      [started, cpu] = [performance.now(), process.cpuUsage()];
      const ran = {
        ...about,
        ...(await train(local, configOf(name, one, seed, teacher), one)),
        ...seconds(),
      };
      return { ...ran, fault: faultOf(ran) };
    } finally {
      await local.close();
    }
  } catch (error) {
    const nothing = { before: NaN, after: NaN, metric: '', curve: [] };
    return { ...about, ...nothing, ...seconds(), fault: (error as Error).message };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function faultOf({ before, after, margin, processorSeconds }: Omit<OneRun, 'fault'>): string | null {
  const moved = after - before;
  if (!(margin > 0 ? moved >= margin : moved <= margin)) return `moved by ${moved.toFixed(3)}`;
  return processorSeconds > LIMIT ? `took more than ${LIMIT} processor seconds` : null;
}

function configOf(
  name: string,
  one: Case,
  seed: number,
  teacher: RunConfigInput['teacher'] = null,
): RunConfigInput {
  return {
    name,
    algorithm: one.algorithm,
    algorithmCode: one.code ?? null,
    model: MODEL,
    data: dataOf(one),
    rewards: one.dataset === 'sums' ? [{ id: 'sums' }] : [],
    teacher,
    params: one.params,
    seed,
    checkpointEvery: 1000,
  };
}

async function train(local: Local, config: RunConfigInput, { measure }: Pick<Case, 'measure'>) {
  const { id } = await local.client.runs.start(config);
  const { status, message, heldOut } = await showRun(local.client, id, { screen: silent });
  if (status !== 'completed') throw new Error(`the run is ${status}: ${message ?? ''}`);
  const metric = (await local.client.runs.get({ id })).headline.key;
  const curve: number[] = [];
  for await (const row of local.client.runs.follow({ id }))
    if (row.kind === 'step') curve.push(row.metrics[metric] ?? NaN);
  return { id, metric, curve, before: heldOut.before![measure]!, after: heldOut.after![measure]! };
}

/** What a run of another case has taught the model. */
async function taught(local: Local, name: string, seed: number) {
  const one = CASES[name]!;
  const { id } = await train(local, configOf(`Teacher: ${name}`, one, seed), one);
  return { model: MODEL, adapter: { run: id } };
}
