import { expect, it } from 'vitest';
import type { Timeline } from '../../../shared/contract/timeline';
import { traceOf } from './trace';

const timelines: Timeline[] = [
  {
    step: 0,
    began: 1_790_000_000_000.5,
    length: 1000,
    spans: [{ lane: 'engine', phase: 'evaluate', start: 0, end: 900, busy: 890 }],
  },
  {
    step: 1,
    began: 1_790_000_000_001.5,
    length: 2000,
    spans: [
      { lane: 'engine', phase: 'rollout', start: 0, end: 800, busy: 790 },
      { lane: 'rewards', phase: 'reward', start: 200, end: 1000, busy: 700 },
      { lane: 'engine', phase: 'update', start: 1100, end: 1900, busy: 800 },
    ],
  },
];

it('is a file of the Trace Event Format: complete events in microseconds, a thread a lane', () => {
  const trace = JSON.parse(JSON.stringify(traceOf({ id: 'r', name: 'Carry' }, timelines))) as ReturnType<
    typeof traceOf
  >;
  expect(trace.displayTimeUnit).toBe('ms');
  for (const event of trace.traceEvents) {
    expect(['M', 'X']).toContain(event.ph);
    expect(event.pid).toBe(1);
    if (event.ph === 'M') continue;
    for (const value of [event.ts, event.dur, event.tid]) expect(Number.isInteger(value)).toBe(true);
    expect(event.ts).toBeGreaterThanOrEqual(0);
    expect(event.dur).toBeGreaterThanOrEqual(0);
  }
  const names = new Map(
    trace.traceEvents.flatMap((e) =>
      e.ph === 'M' && e.name === 'thread_name' ? [[e.tid, e.args['name']]] : [],
    ),
  );
  expect([...names.values()]).toEqual(['Steps', 'Engine', 'Rewards', 'Backend']);
  const shown = trace.traceEvents.flatMap((e) =>
    e.ph === 'X' ? [[names.get(e.tid), e.name, e.ts, e.dur] as const] : [],
  );
  expect(shown).toEqual([
    ['Steps', 'before the first step', 0, 1000],
    ['Engine', 'evaluate', 0, 900],
    ['Steps', 'step 1', 1000, 2000],
    ['Engine', 'rollout', 1000, 800],
    ['Rewards', 'reward', 1200, 800],
    ['Engine', 'update', 2100, 800],
  ]);
  const step = trace.traceEvents.find((e) => e.name === 'step 1');
  expect(step?.args).toEqual({ step: 1, engineIdlePercent: 20.5 });
});

it('keeps the spans of a thread apart', () => {
  const events = traceOf({ id: 'r', name: 'Carry' }, timelines).traceEvents;
  for (const tid of [1, 2, 3, 4]) {
    let at = 0;
    for (const event of events) {
      if (event.ph !== 'X' || event.tid !== tid) continue;
      expect(event.ts).toBeGreaterThanOrEqual(at);
      at = event.ts + event.dur;
    }
  }
});
