import type {
  CheckpointRow,
  EvaluationRow,
  EventRow,
  FollowItem,
  Progress,
  RunStatus,
} from '../../../shared/contract/runs';
import type { z } from 'zod';
import { AtelierError } from '../../../shared/rpc/errors';
import { Series } from './series';
import { Timelines } from './timelines';

export type RunEvent = z.infer<typeof EventRow>;
export type Evaluation = z.infer<typeof EvaluationRow>;
export type CheckpointMark = z.infer<typeof CheckpointRow>;

/** All of a run but its series and timelines, as one value that changes when something does. */
export interface RunView {
  /** replaying: stored rows come in; live: all are here; ended: the stream is over; lost: being followed anew. */
  phase: 'replaying' | 'live' | 'ended' | 'lost' | 'failed';
  error: AtelierError | null;
  status: RunStatus | null;
  message: string | undefined;
  progress: Progress | null;
  events: readonly RunEvent[];
  evaluations: readonly Evaluation[];
  checkpoints: readonly CheckpointMark[];
  lastStep: number;
}

type Follow = (after: number, signal: AbortSignal) => AsyncIterable<FollowItem>;

const VIEW_MS = 100;
const SERIES_MS = 500;
const terminal: ReadonlySet<RunStatus> = new Set([
  'completed',
  'stopped',
  'failed',
  'interrupted',
  'corrupt',
]);

/**
 * Follows one run from its first stored row and keeps what came, across lost connections: it always asks for what
 * is after the last seq it has. Views change at most ten times a second, series twice.
 */
export class RunStore {
  readonly series = new Series();
  readonly timelines = new Timelines();
  #follow: Follow;
  #view: RunView = {
    phase: 'replaying',
    error: null,
    status: null,
    message: undefined,
    progress: null,
    events: [],
    evaluations: [],
    checkpoints: [],
    lastStep: 0,
  };
  #next: Partial<RunView> | null = null;
  #seq = 0;
  #seriesVersion = 0;
  #viewTimer: ReturnType<typeof setTimeout> | undefined;
  #seriesTimer: ReturnType<typeof setTimeout> | undefined;
  #viewListeners = new Set<() => void>();
  #seriesListeners = new Set<() => void>();
  #running: AbortController | null = null;

  constructor(follow: Follow) {
    this.#follow = follow;
  }

  readonly view = () => this.#view;
  readonly seriesVersion = () => this.#seriesVersion;
  readonly subscribe = (listener: () => void) => listen(this.#viewListeners, listener);
  readonly subscribeSeries = (listener: () => void) => listen(this.#seriesListeners, listener);

  /** Starts to follow, unless it does already. Also after a run that had ended goes on. */
  start(): void {
    if (this.#running !== null) return;
    const control = new AbortController();
    this.#running = control;
    void this.#run(control.signal).finally(() => {
      if (this.#running === control) this.#running = null;
    });
  }

  stop(): void {
    this.#running?.abort();
    this.#running = null;
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted;) {
      try {
        for await (const item of this.#follow(this.#seq, signal)) {
          failures = 0;
          this.#take(item);
        }
        this.#change({ phase: 'ended', progress: null, error: null });
        return;
      } catch (error) {
        if (signal.aborted) return;
        const known =
          error instanceof AtelierError
            ? error
            : new AtelierError('internal', error instanceof Error ? error.message : String(error));
        if (known.code === 'behind') continue;
        if (known.code !== 'unavailable' && known.code !== 'cancelled') {
          this.#change({ phase: 'failed', error: known });
          return;
        }
        this.#change({ phase: 'lost', progress: null });
        failures += 1;
        await pause(Math.min(4000, 200 * 2 ** failures), signal);
      }
    }
  }

  #take(item: FollowItem): void {
    if ('seq' in item) {
      if (item.seq <= this.#seq) return;
      this.#seq = item.seq;
    }
    const now = { ...this.#view, ...this.#next };
    switch (item.kind) {
      case 'step':
        this.series.append(item.step, item.metrics);
        this.#seriesChanged();
        this.#change({ lastStep: item.step });
        break;
      case 'state':
        this.#change({
          status: item.status,
          message: item.message,
          ...(terminal.has(item.status) || item.status === 'paused' ? { progress: null } : {}),
        });
        break;
      case 'event':
        this.#change({ events: [...now.events, item] });
        if (item.code === 'resumed') this.#forgetAfter(item.step);
        break;
      case 'evaluation':
        this.#change({ evaluations: [...now.evaluations.filter((row) => row.step !== item.step), item] });
        break;
      case 'checkpoint':
        this.#change({ checkpoints: [...now.checkpoints.filter((row) => row.step !== item.step), item] });
        break;
      case 'timeline':
        this.timelines.append(item);
        this.#seriesChanged();
        break;
      case 'progress':
        this.#change({ progress: item });
        break;
      case 'live':
        this.#flushSeries();
        this.#change({ phase: 'live', error: null });
        break;
    }
  }

  /** A resumed run computes the steps after its last checkpoint again. */
  #forgetAfter(step: number): void {
    const now = { ...this.#view, ...this.#next };
    this.series.truncate(step);
    this.timelines.truncate(step);
    this.#seriesChanged();
    this.#change({
      lastStep: Math.min(now.lastStep, step),
      evaluations: now.evaluations.filter((row) => row.step <= step),
      checkpoints: now.checkpoints.filter((row) => row.step <= step),
    });
  }

  #change(part: Partial<RunView>): void {
    this.#next = { ...this.#next, ...part };
    if (this.#viewTimer !== undefined) return;
    this.#viewTimer = setTimeout(() => {
      this.#viewTimer = undefined;
      this.#view = { ...this.#view, ...this.#next };
      this.#next = null;
      for (const listener of this.#viewListeners) listener();
    }, this.#viewDelay());
  }

  /** The first view comes at once, so that a page does not wait for it. */
  #viewDelay(): number {
    return this.#view.status === null ? 0 : VIEW_MS;
  }

  #seriesChanged(): void {
    this.#seriesTimer ??= setTimeout(() => this.#flushSeries(), SERIES_MS);
  }

  #flushSeries(): void {
    clearTimeout(this.#seriesTimer);
    this.#seriesTimer = undefined;
    this.#seriesVersion += 1;
    for (const listener of this.#seriesListeners) listener();
  }
}

function listen(listeners: Set<() => void>, listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}
