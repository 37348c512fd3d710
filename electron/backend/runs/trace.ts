import { writeFile } from 'node:fs/promises';
import { engineIdle, LANES, type Lane, type Timeline } from '../../../shared/contract/timeline';
import { AtelierError } from '../../../shared/rpc';
import type { Roots } from '../places';
import { targetOf, writable } from './export-target';
import type { RunEntry } from './run-entry';

/** Of the Trace Event Format: microseconds. */
type TraceEvent =
  | { ph: 'M'; pid: number; tid?: number; name: string; args: Record<string, string | number> }
  | {
      ph: 'X';
      pid: number;
      tid: number;
      cat: string;
      name: string;
      ts: number;
      dur: number;
      args: Record<string, number>;
    };

export interface TraceFile {
  displayTimeUnit: 'ms';
  otherData: Record<string, string>;
  traceEvents: TraceEvent[];
}

const LANE_NAMES: Record<Lane, string> = { engine: 'Engine', rewards: 'Rewards', backend: 'Backend' };
const PID = 1;
const STEPS = 1;
const tidOf = (lane: Lane) => STEPS + 1 + LANES.indexOf(lane);

/** The steps and their spans as events; time 0 is the beginning of the first. */
export function traceOf(run: { id: string; name: string }, timelines: readonly Timeline[]): TraceFile {
  const origin = timelines[0]?.began ?? 0;
  const named = (name: string, text: string, tid?: number): TraceEvent => ({
    ph: 'M',
    pid: PID,
    ...(tid === undefined ? {} : { tid }),
    name,
    args: { name: text },
  });
  return {
    displayTimeUnit: 'ms',
    otherData: { run: run.id, began: new Date(origin).toISOString() },
    traceEvents: [
      named('process_name', run.name),
      named('thread_name', 'Steps', STEPS),
      ...LANES.map((lane) => named('thread_name', LANE_NAMES[lane], tidOf(lane))),
      ...[STEPS, ...LANES.map(tidOf)].map((tid): TraceEvent => ({
        ph: 'M',
        pid: PID,
        tid,
        name: 'thread_sort_index',
        args: { sort_index: tid },
      })),
      ...timelines.flatMap((timeline) => eventsOf(timeline, origin)),
    ],
  };
}

function eventsOf(timeline: Timeline, origin: number): TraceEvent[] {
  const { step, length, spans } = timeline;
  const from = Math.round((timeline.began - origin) * 1000);
  return [
    {
      ph: 'X',
      pid: PID,
      tid: STEPS,
      cat: 'step',
      name: step === 0 ? 'before the first step' : `step ${step}`,
      ts: from,
      dur: length,
      args: { step, engineIdlePercent: Number((100 * engineIdle(timeline)).toFixed(2)) },
    },
    ...spans.map(({ lane, phase, start, end, busy }): TraceEvent => ({
      ph: 'X',
      pid: PID,
      tid: tidOf(lane),
      cat: lane,
      name: phase,
      ts: from + start,
      dur: end - start,
      args: { step, busyMicroseconds: busy },
    })),
  ];
}

/** Writes a run's timelines as one file. @throws AtelierError not_found where there are none, else as an export does */
export async function writeTrace(
  entry: RunEntry,
  path: string | undefined,
  roots: Pick<Roots, 'resolve'>,
): Promise<{ path: string; bytes: number; steps: number }> {
  const { id, name } = entry.readable;
  const timelines = entry.reader.timelines();
  if (timelines.length === 0) {
    throw new AtelierError(
      'not_found',
      'No timeline of the run is stored.',
      'There is one once a step has ended; runs of earlier versions have none.',
    );
  }
  const target = await targetOf(entry, 'trace.json', path, roots);
  const text = `${JSON.stringify(traceOf({ id, name }, timelines))}\n`;
  await writable(target, () => writeFile(target, text, { flag: 'wx' }));
  return { path: target, bytes: Buffer.byteLength(text), steps: timelines.length };
}
