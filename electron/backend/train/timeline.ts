import type { Engine } from '../../../native/face';
import {
  LANES,
  type Lane,
  type Span,
  type Timeline,
  type TimelinePhase,
} from '../../../shared/contract/timeline';
import type { TrainJob } from './job';

/** Spans of a lane after which those of one phase join, whatever lies between. */
const MOST = 8;

interface Building {
  step: number;
  /** On the clock of `performance.now`. */
  from: number;
  /** Milliseconds since `from`; the newest span of each lane comes last. */
  spans: Record<Lane, { phase: TimelinePhase; start: number; end: number; busy: number }[]>;
}

/** Notes where the time of each step goes: who works on what, from when to when, and how long of it in truth. */
export class StepClock {
  #now: Building | null = null;
  #ended: Timeline[] = [];
  #evaluates = false;

  /** A step begins. The one before it ends, where it stands right before; else its work was thrown away. */
  begin(step: number): void {
    const from = performance.now();
    this.#end(step - 1, from);
    this.#now = { step, from, spans: { engine: [], rewards: [], backend: [] } };
  }

  /** What was begun ends here. It counts where it is this step, and something was done. */
  end(step: number): void {
    this.#end(step, performance.now());
  }

  #end(step: number, at: number): void {
    const now = this.#now;
    this.#now = null;
    if (now?.step !== step || LANES.every((lane) => now.spans[lane].length === 0)) return;
    const length = micro(at - now.from);
    const spans = LANES.flatMap((lane) =>
      now.spans[lane].map(({ phase, start, end, busy }): Span => {
        const [from, to] = [micro(start), Math.min(length, micro(end))];
        return { lane, phase, start: from, end: to, busy: Math.min(to - from, micro(busy)) };
      }),
    );
    this.#ended.push({
      step: now.step,
      began: performance.timeOrigin + now.from,
      length,
      spans: spans.sort((a, b) => a.start - b.start),
    });
  }

  /** Steps that have ended and were not taken yet. */
  get ended(): readonly Timeline[] {
    return this.#ended;
  }

  taken(count: number): void {
    this.#ended = this.#ended.slice(count);
  }

  /** Work of the backend itself. */
  async during<T>(phase: TimelinePhase, work: () => T | Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      return await work();
    } finally {
      this.note('backend', phase, start);
    }
  }

  /** The engine's calls in `work` measure the held-out rows. */
  async evaluating<T>(work: () => Promise<T>): Promise<T> {
    this.#evaluates = true;
    try {
      return await work();
    } finally {
      this.#evaluates = false;
    }
  }

  /**
   * Work that began at `start` (of `performance.now`) and has ended now. It joins what its lane did last, where that
   * was the same with little between, or where there are many already: a step has a handful of spans. `seconds`: of the
   * engine's own clock.
   */
  note(lane: Lane, phase: TimelinePhase, start: number, seconds?: number): void {
    const now = this.#now;
    if (now === null) return;
    const spans = now.spans[lane];
    const last = spans.at(-1);
    // what began before the step, or waited for its turn on the lane
    const from = Math.max(0, last?.end ?? 0, start - now.from);
    const end = Math.max(from, performance.now() - now.from);
    const busy = Math.min(end - from, seconds === undefined ? Infinity : seconds * 1000);
    if (last?.phase === phase && (from - last.end <= Math.max(1, last.busy / 4) || spans.length >= MOST)) {
      last.end = end;
      last.busy += busy;
    } else spans.push({ phase, start: from, end, busy });
  }

  /** The same engine; its work is noted. */
  watch<E extends Engine>(engine: E): E {
    const timed = async <R>(
      phase: TimelinePhase,
      work: () => Promise<R>,
      seconds?: (result: R) => number,
    ) => {
      const start = performance.now();
      const result = await work();
      this.note('engine', phase, start, seconds?.(result));
      return result;
    };
    const inside = (phase: TimelinePhase) => (this.#evaluates ? 'evaluate' : phase);
    const own = (result: { seconds: number }) => result.seconds;
    return {
      ...engine,
      generate: (request, hooks) => timed(inside('rollout'), () => engine.generate(request, hooks), own),
      score: (request, hooks) => timed(inside('logprobs'), () => engine.score(request, hooks), own),
      step: (request, hooks) => timed('update', () => engine.step(request, hooks), own),
      saveAdapter: (...args) => timed('save', () => engine.saveAdapter(...args)),
      saveModel: (...args) => timed('save', () => engine.saveModel(...args)),
      saveOptimizer: (...args) => timed('save', () => engine.saveOptimizer(...args)),
    };
  }
}

/** A job whose time is noted. */
export interface TimedJob extends TrainJob {
  clock: StepClock;
}

export function timed<J extends TrainJob>(job: J): J & TimedJob {
  const clock = new StepClock();
  return { ...job, clock, engine: clock.watch(job.engine) };
}

const micro = (milliseconds: number): number => Math.max(0, Math.round(milliseconds * 1000));
