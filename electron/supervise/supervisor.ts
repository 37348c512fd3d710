/** A process under supervision, whoever forked it. */
export interface Child {
  readonly pid: number | undefined;
  kill(signal: 'SIGTERM' | 'SIGKILL'): void;
  /** Called once. */
  onExit(listener: (code: number | null, signal: string | null) => void): void;
  /** Called once, when the process says that it can work. */
  onReady(listener: () => void): void;
}

export type SupervisorState =
  | { state: 'starting' }
  | { state: 'ready' }
  /** It ended by itself and starts again in `inMs`. */
  | { state: 'restarting'; inMs: number; reason: string }
  /** It ended too often in a row; start() tries again. */
  | { state: 'failed'; reason: string }
  | { state: 'stopped' };

export interface SupervisorOptions {
  fork: () => Child;
  onState?: (state: SupervisorState) => void;
  /** First wait before a restart; doubles each time up to `maxDelayMs`. */
  firstDelayMs?: number;
  maxDelayMs?: number;
  /** Ends in a row without having been ready for `healthyMs` after which no more restart is tried. */
  giveUpAfter?: number;
  healthyMs?: number;
  /** From SIGTERM to SIGKILL: a hung native call ignores the first. */
  graceMs?: number;
}

/** Keeps one process running: fork, ready, restart with back-off, stop by SIGTERM and then SIGKILL. */
export class Supervisor {
  #child: Child | null = null;
  #timer: NodeJS.Timeout | undefined;
  #stopping = false;
  #failures = 0;
  #readyAt: number | null = null;
  readonly #options: Required<Omit<SupervisorOptions, 'onState'>>;
  readonly #onState: (state: SupervisorState) => void;

  constructor(options: SupervisorOptions) {
    this.#options = {
      firstDelayMs: 250,
      maxDelayMs: 10_000,
      giveUpAfter: 5,
      healthyMs: 20_000,
      graceMs: 5_000,
      ...options,
    };
    this.#onState = options.onState ?? (() => undefined);
  }

  /** The running process, null between two. */
  get child(): Child | null {
    return this.#child;
  }

  start(): void {
    if (this.#child !== null || this.#timer !== undefined) return;
    this.#stopping = false;
    this.#failures = 0;
    this.#fork();
  }

  /** Resolves when the process has ended. */
  stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const child = this.#child;
    if (child === null) {
      this.#onState({ state: 'stopped' });
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const hard = setTimeout(() => child.kill('SIGKILL'), this.#options.graceMs);
      child.onExit(() => {
        clearTimeout(hard);
        resolve();
      });
      child.kill('SIGTERM');
    });
  }

  #fork(): void {
    this.#onState({ state: 'starting' });
    this.#readyAt = null;
    const child = this.#options.fork();
    this.#child = child;
    child.onReady(() => {
      if (this.#child !== child) return;
      this.#readyAt = Date.now();
      this.#onState({ state: 'ready' });
    });
    child.onExit((code, signal) => this.#ended(signal === null ? `exit code ${code}` : `signal ${signal}`));
  }

  #ended(reason: string): void {
    this.#child = null;
    if (this.#stopping) {
      this.#onState({ state: 'stopped' });
      return;
    }
    const healthy = this.#readyAt !== null && Date.now() - this.#readyAt >= this.#options.healthyMs;
    this.#failures = healthy ? 1 : this.#failures + 1;
    if (this.#failures >= this.#options.giveUpAfter) {
      this.#onState({ state: 'failed', reason: `ended ${this.#failures} times in a row, last by ${reason}` });
      return;
    }
    const inMs = Math.min(this.#options.firstDelayMs * 2 ** (this.#failures - 1), this.#options.maxDelayMs);
    this.#onState({ state: 'restarting', inMs, reason });
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#fork();
    }, inMs);
  }
}
