import type { Progress, RunPhase } from '../../../shared/contract/runs';

const MIN_INTERVAL_MS = 100;

/** Where the running step is: at most 10 reports a second, the last of a phase always among them. */
export class ProgressMeter {
  #lastAt = 0;
  #secondsPerStep: number | null = null;
  #tokensPerSecond: number | null = null;
  #last: Progress | null = null;

  constructor(
    private readonly steps: number,
    private readonly report: (progress: Progress) => void,
  ) {}

  phase(phase: RunPhase, step: number, done: number, total: number): void {
    const now = performance.now();
    const changed = this.#last?.phase !== phase || this.#last.step !== step || done >= total;
    if (!changed && now - this.#lastAt < MIN_INTERVAL_MS) return;
    this.#lastAt = now;
    const stepsLeft = phase === 'finishing' ? 0 : Math.max(0, this.steps - step + 1);
    this.#last = {
      kind: 'progress',
      phase,
      step,
      steps: this.steps,
      done,
      total,
      tokensPerSecond: this.#tokensPerSecond,
      etaSeconds: this.#secondsPerStep === null ? null : this.#secondsPerStep * stepsLeft,
    };
    this.report(this.#last);
  }

  /** A step ended. The estimate follows changes of pace within about 10 steps. */
  stepTook(seconds: number, tokensPerSecond: number): void {
    const blend = (old: number | null, value: number) => (old === null ? value : 0.8 * old + 0.2 * value);
    this.#secondsPerStep = blend(this.#secondsPerStep, seconds);
    if (Number.isFinite(tokensPerSecond)) this.#tokensPerSecond = tokensPerSecond;
  }
}
