import type { Lane, Span, Timeline, TimelinePhase } from '../../../../shared/contract/timeline';

/** What a moment of a step went to: the engine's work, or what the engine waited for. */
export type Part =
  | Extract<TimelinePhase, 'rollout' | 'reward' | 'logprobs' | 'update' | 'evaluate' | 'save'>
  | 'waitsForRewards'
  | 'waitsForBackend'
  | 'waits';

/** In the order in which they are stacked: what the engine waited for comes last. */
export const PARTS: readonly { part: Part; label: string; idle: boolean }[] = [
  { part: 'rollout', label: 'Sampling', idle: false },
  { part: 'reward', label: 'Reward model', idle: false },
  { part: 'logprobs', label: 'Log-probabilities', idle: false },
  { part: 'update', label: 'Update', idle: false },
  { part: 'evaluate', label: 'Held-out rows', idle: false },
  { part: 'save', label: 'Saving weights', idle: false },
  { part: 'waitsForRewards', label: 'Idle: waits for rewards', idle: true },
  { part: 'waitsForBackend', label: 'Idle: waits for the backend', idle: true },
  { part: 'waits', label: 'Idle: between calls', idle: true },
];

export const PHASE_WORDS: Record<TimelinePhase, string> = {
  rollout: 'Sampling',
  reward: 'Rewards',
  logprobs: 'Log-probabilities',
  update: 'Update',
  evaluate: 'Held-out rows',
  save: 'Saving weights',
  rows: 'Preparing rows',
  store: 'Writing the step',
  checkpoint: 'Checkpoint',
  proof: 'Reading back',
};

export const LANE_WORDS: Record<Lane, string> = { engine: 'Engine', rewards: 'Rewards', backend: 'Backend' };

type Interval = readonly [from: number, to: number];

/** Times within a step in which the engine had nothing of the run to do, as far as its spans tell. */
export function engineGaps({ spans, length }: Pick<Timeline, 'spans' | 'length'>): Interval[] {
  const gaps: Interval[] = [];
  let at = 0;
  for (const { start, end } of ofLane(spans, 'engine')) {
    if (start > at) gaps.push([at, start]);
    at = Math.max(at, end);
  }
  if (length > at) gaps.push([at, length]);
  return gaps;
}

/** Microseconds of each part; they add up to the step's length. */
export function sharesOf(timeline: Pick<Timeline, 'spans' | 'length'>): Record<Part, number> {
  const shares = Object.fromEntries(PARTS.map(({ part }) => [part, 0])) as Record<Part, number>;
  const { spans } = timeline;
  for (const { phase, start, end, busy } of ofLane(spans, 'engine')) {
    shares[phase as Part] += busy;
    // the way there and back, and what lay between the calls of one span
    shares.waits += end - start - busy;
  }
  const intervals = (lane: Lane): Interval[] => ofLane(spans, lane).map(({ start, end }) => [start, end]);
  const [rewards, backend] = [intervals('rewards'), intervals('backend')];
  for (const gap of engineGaps(timeline)) {
    const whole = gap[1] - gap[0];
    const forRewards = covered(gap, rewards);
    const either = covered(gap, joined([...rewards, ...backend]));
    shares.waitsForRewards += forRewards;
    shares.waitsForBackend += either - forRewards;
    shares.waits += whole - either;
  }
  return shares;
}

const ofLane = (spans: readonly Span[], lane: Lane) => spans.filter((span) => span.lane === lane);

/** Of intervals that may overlap. */
function joined(intervals: Interval[]): Interval[] {
  const all: [number, number][] = [];
  for (const [from, to] of intervals.toSorted((a, b) => a[0] - b[0])) {
    const last = all.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
    else all.push([from, to]);
  }
  return all;
}

const covered = ([from, to]: Interval, by: readonly Interval[]): number =>
  by.reduce((sum, [start, end]) => sum + Math.max(0, Math.min(to, end) - Math.max(from, start)), 0);

export interface Column {
  /** Steps that it stands for: `first` to `last`. */
  first: number;
  last: number;
  /** [PARTS] of 1. */
  shares: number[];
}

/** Steps side by side, so many neighbours in one that there are at most `most`. */
export function columnsOf(timelines: readonly Timeline[], most: number): Column[] {
  const steps = timelines.filter(({ step, length }) => step > 0 && length > 0);
  const each = Math.max(1, Math.ceil(steps.length / most));
  return Array.from({ length: Math.ceil(steps.length / each) }, (_, k) => {
    const some = steps.slice(k * each, (k + 1) * each);
    const total = some.reduce((sum, { length }) => sum + length, 0);
    const parts = some.map(sharesOf);
    return {
      first: some[0]!.step,
      last: some.at(-1)!.step,
      shares: PARTS.map(({ part }) => parts.reduce((sum, one) => sum + one[part], 0) / total),
    };
  });
}
