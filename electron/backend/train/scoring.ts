import type { Sample, Score, ScoringKey, WeightedScorer } from './job';
import { addUp } from './reward-sum';
import type { StepClock } from './timeline';

/**
 * Scores answers while others are still being written: each call is made as soon as what it holds is there. What it
 * holds does not depend on the order in which answers end.
 */
export class Scoring {
  readonly #samples: Sample[] = [];
  /** [rewards][samples] */
  readonly #scored: Score[][];
  readonly #keys: ScoringKey[];
  readonly #calls: Promise<void>[] = [];
  /** Answers that are to come, by group. */
  readonly #open = new Map<number, number>();
  #left: number;
  /** Scores that there are, of all rewards. */
  #scores = 0;
  #under = 0;
  #since = 0;

  /** `groups` [samples]: a number that answers to one prompt share. `onFailure`: told at once, and `finish` throws it. */
  constructor(
    private readonly rewards: readonly WeightedScorer[],
    private readonly groups: readonly number[],
    key: Omit<ScoringKey, 'breaks'>,
    private readonly clock: StepClock,
    private readonly hooks: {
      signal: AbortSignal;
      onFailure: (error: unknown) => void;
      onScored: (count: number) => void;
    },
  ) {
    this.#left = groups.length;
    this.#scored = rewards.map(() => []);
    this.#keys = rewards.map(() => ({ ...key, breaks: { count: 0 } }));
    for (const group of groups) this.#open.set(group, (this.#open.get(group) ?? 0) + 1);
  }

  /** The answer of place `k` has ended. */
  add(k: number, sample: Sample): void {
    this.#samples[k] = sample;
    const group = this.groups[k]!;
    const left = this.#open.get(group)! - 1;
    this.#open.set(group, left);
    this.#left--;
    this.rewards.forEach(({ scorer }, r) => {
      if (scorer.takes === 'answer') this.#call(r, [k]);
      else if (scorer.takes === 'group' && left === 0) this.#call(r, this.#places(group));
      else if (scorer.takes === 'all' && this.#left === 0) this.#call(r, this.#places());
    });
  }

  /** Answers that are scored, with all rewards on the average. */
  get done(): number {
    return this.rewards.length === 0 ? this.groups.length : Math.floor(this.#scores / this.rewards.length);
  }

  /** Once all have come and are scored. */
  async finish(): Promise<Score[]> {
    await Promise.all(this.#calls);
    return addUp(this.rewards, this.#scored, this.groups);
  }

  /** Once no call is under way, however it ended. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#calls);
  }

  #places(group?: number): number[] {
    return this.groups.flatMap((of, k) => (group === undefined || of === group ? [k] : []));
  }

  #call(r: number, places: number[]): void {
    const { scorer, name } = this.rewards[r]!;
    const call = this.#timed(scorer.takes === 'all', async () => {
      const samples = places.map((k) => this.#samples[k]!);
      const scores = await scorer.score(samples, this.#keys[r]!, this.hooks.signal);
      if (scores.length !== places.length)
        throw new Error(`the reward ${name} gave ${scores.length} scores for ${places.length} answers`);
      places.forEach((k, n) => (this.#scored[r]![k] = scores[n]!));
      this.#scores += places.length;
      this.hooks.onScored(this.done);
    });
    call.catch(this.hooks.onFailure);
    this.#calls.push(call);
  }

  /** On the engine's lane, or on the rewards': there while any call is under way. */
  async #timed(onEngine: boolean, work: () => Promise<void>): Promise<void> {
    const start = performance.now();
    if (!onEngine && this.#under++ === 0) this.#since = start;
    try {
      await work();
    } finally {
      if (onEngine) this.clock.note('engine', 'reward', start);
      else if (--this.#under === 0) this.clock.note('rewards', 'reward', this.#since);
    }
  }
}
