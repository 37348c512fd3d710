import type { z } from 'zod';
import { heldOutMetricsOf } from '../../../shared/algorithms';
import type { Run, RunStatus, RunSummary } from '../../../shared/contract/runs';
import { folderBytes } from '../store';
import { algorithmOfRun } from './about-run';
import type { RunEntry } from './run-entry';

type Summary = z.input<typeof RunSummary>;

/** Points of a sparkline. */
const POINTS = 60;
const ended: ReadonlySet<RunStatus> = new Set(['completed', 'stopped', 'failed']);

const cache = new WeakMap<RunEntry, { version: number; summary: Summary }>();

/** `place`: in the queue, from 1. */
export async function summarise(entry: RunEntry, place: number | null): Promise<Summary> {
  const known = cache.get(entry);
  if (known?.version === entry.version) return { ...known.summary, queue: place };
  const { version } = entry;
  const summary = entry.record ? await read(entry) : corrupt(entry);
  cache.set(entry, { version, summary });
  return { ...summary, queue: place };
}

async function read(entry: RunEntry): Promise<Summary> {
  const { reader, readable: record } = entry;
  const state = reader.status() ?? { status: 'failed' as const, at: record.createdAt };
  const points = reader.series(record.headline, POINTS);
  const step = reader.lastStep();
  return {
    id: entry.id,
    name: record.name,
    algorithm: record.config.algorithm,
    model: record.config.model,
    modelName: record.modelName,
    dataset: record.config.data.dataset,
    status: state.status,
    ...(state.message === undefined ? {} : { message: state.message }),
    scalarHead: algorithmOfRun(record)?.scalarHead ?? false,
    step,
    steps: record.steps,
    headline: { key: record.headline, value: points.at(-1) ?? null, points },
    heldOut: heldOut(entry),
    createdAt: record.createdAt,
    endedAt: ended.has(state.status) ? state.at : null,
    bytes: await folderBytes(entry.folder),
    queue: null,
  };
}

/** The held-out measure that stands for the run. */
function heldOut(entry: RunEntry): Summary['heldOut'] {
  const all = entry.reader.evaluations();
  const algorithm = algorithmOfRun(entry.readable);
  if (algorithm === null) return { before: null, after: null };
  const [{ key }] = heldOutMetricsOf(algorithm.data);
  const value = (metrics: Record<string, number> | undefined): number | null => {
    const found = metrics?.[key];
    return found === undefined || !Number.isFinite(found) ? null : found;
  };
  return {
    before: value(all.find(({ step }) => step === 0)?.metrics),
    after: value(all.findLast(({ step }) => step > 0)?.metrics),
  };
}

function corrupt(entry: RunEntry): Summary {
  return {
    id: entry.id,
    name: entry.id,
    algorithm: '',
    model: 'unknown',
    modelName: '',
    dataset: 'unknown',
    status: 'corrupt',
    message: entry.corrupt ?? 'This run cannot be read.',
    scalarHead: false,
    step: 0,
    steps: 0,
    headline: { key: '', value: null, points: [] },
    heldOut: { before: null, after: null },
    createdAt: 0,
    endedAt: null,
    bytes: 0,
    queue: null,
  };
}

export async function details(entry: RunEntry, place: number | null): Promise<z.input<typeof Run>> {
  const record = entry.readable;
  return {
    ...(await summarise(entry, place)),
    config: record.config,
    rewards: record.rewards,
    own: record.own,
    folder: entry.folder,
    provenance: record.provenance,
    exports: entry.reader.exports(),
  };
}
