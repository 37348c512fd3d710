import { z } from 'zod';

/** Who works: spans of one lane never overlap, those of different lanes may. */
export const LANES = ['engine', 'rewards', 'backend'] as const;
export type Lane = (typeof LANES)[number];

export const TimelinePhase = z.enum([
  'rollout', // sampling answers
  'reward', // scoring them: on the rewards' lane, a reward model on the engine's
  'logprobs', // log-probabilities and values before the update: reference, old policy, critic
  'update',
  'evaluate', // held-out rows
  'save', // weights and optimiser written by the engine
  'rows', // advantages, and the rows that are learnt
  'store', // the step's row and rollouts into the run's database
  'checkpoint', // files synced, hashed and committed
  'proof', // the last checkpoint read back and compared
]);
export type TimelinePhase = z.infer<typeof TimelinePhase>;

const microseconds = z.number().int().min(0);

/** Work of one phase on one lane: from its first call to the end of its last. */
export const Span = z.object({
  lane: z.enum(LANES),
  phase: TimelinePhase,
  /** Since the step began. */
  start: microseconds,
  end: microseconds,
  /** Of that time, what the lane worked: the engine by its own clock. At most `end - start`. */
  busy: microseconds,
});
export type Span = z.infer<typeof Span>;

/** Where the time of one step went, from its beginning to that of the next. Step 0 is what comes before the first. */
export const Timeline = z.object({
  step: z.number().int(),
  /** Milliseconds since 1970. */
  began: z.number(),
  length: microseconds,
  spans: z.array(Span),
});
export type Timeline = z.infer<typeof Timeline>;

/** Microseconds that the engine worked. */
export const engineBusy = ({ spans }: Pick<Timeline, 'spans'>): number =>
  spans.reduce((sum, { lane, busy }) => (lane === 'engine' ? sum + busy : sum), 0);

/** Share of the step's time in which the engine had nothing of this run to do; NaN of a step without time. */
export const engineIdle = (timeline: Pick<Timeline, 'spans' | 'length'>): number =>
  1 - engineBusy(timeline) / timeline.length;
