import type { GeneratedRow, GenerateProgress } from '../../../native/face';
import type { PromptRow } from '../datasets';
import type { Score, ScoringKey, Weights } from './job';
import { Scoring } from './scoring';
import type { TimedJob } from './timeline';

/** What is asked, and how it is answered. */
export interface Asked {
  weights: Weights;
  prompts: readonly PromptRow[];
  samplesPerPrompt: number;
  maxNewTokens: number;
  temperature: number;
  seed: number;
  /** Place of the first answer within its step. */
  firstIndex: number;
  key: Omit<ScoringKey, 'breaks'>;
}

export interface Sampled {
  /** prompt-major, with their texts and scores in the same order. */
  rows: GeneratedRow[];
  completions: string[];
  scores: Score[];
  tokens: number;
  seconds: number;
}

export interface SamplingHooks {
  signal: AbortSignal;
  /** Answers that have ended. */
  onSampled: (count: number) => void;
  /** Answers that are scored, once all have ended. */
  onScored: (count: number) => void;
}

/** Samples answers and scores them: each is decoded and scored as soon as it has ended, while others are still written. */
export async function sampleAnswers(job: TimedJob, asked: Asked, hooks: SamplingHooks): Promise<Sampled> {
  const { prompts, samplesPerPrompt, maxNewTokens } = asked;
  const total = prompts.length * samplesPerPrompt;
  const groups = Array.from({ length: total }, (_, k) => Math.floor(k / samplesPerPrompt));
  const stop = new AbortController();
  const signal = AbortSignal.any([hooks.signal, stop.signal]);
  const failures: unknown[] = [];
  // nothing more is sampled where an answer cannot be scored
  const onFailure = (error: unknown) => {
    failures.push(error);
    stop.abort();
  };
  let sampled = false;
  const onScored = (count: number) => {
    if (sampled) hooks.onScored(count);
  };
  const scoring = new Scoring(job.rewards, groups, asked.key, job.clock, { signal, onFailure, onScored });
  const completions: string[] = [];
  const begun = new Map<number, Promise<void>>();
  const begin = (k: number, ids: Int32Array) => {
    const prompt = prompts[groups[k]!]!;
    const decoded = job.text.decode(ids).then((completion) => {
      completions[k] = completion;
      if (!signal.aborted) scoring.add(k, { prompt, completion, ids, index: asked.firstIndex + k });
    });
    decoded.catch(onFailure);
    begun.set(k, decoded);
  };
  const endings = new Endings(job.text.stopIds, maxNewTokens);
  try {
    const { rows, tokens, seconds } = await job.engine.generate(
      {
        ...asked.weights,
        prompts: prompts.map(({ ids }) => ids),
        samplesPerPrompt,
        maxNewTokens,
        temperature: asked.temperature,
        stopIds: job.text.stopIds,
        seed: asked.seed,
      },
      {
        signal,
        onProgress(progress) {
          if (signal.aborted) return;
          for (const [k, ids] of endings.read(progress)) begin(k, ids);
          hooks.onSampled(progress.finished);
        },
      },
    );
    signal.throwIfAborted();
    rows.forEach(({ ids }, k) => {
      if (!begun.has(k)) begin(k, ids);
      else endings.check(k, ids);
    });
    await Promise.all(begun.values());
    signal.throwIfAborted();
    sampled = true;
    onScored(scoring.done);
    const scores = await scoring.finish();
    signal.throwIfAborted();
    return { rows, completions, scores, tokens, seconds };
  } catch (error) {
    const cause = failures.length > 0 ? failures[0] : error;
    stop.abort();
    await scoring.settled();
    throw cause;
  }
}

/** Puts answers together from the tokens that appear, and tells those that have ended. */
class Endings {
  readonly #stop: ReadonlySet<number>;
  readonly #rows = new Map<number, number[]>();
  readonly #ended = new Map<number, Int32Array>();

  constructor(
    stopIds: Int32Array,
    private readonly longest: number,
  ) {
    this.#stop = new Set(stopIds);
  }

  /** Answers that end with these tokens, by their place. */
  read({ row, id }: GenerateProgress): [number, Int32Array][] {
    const ended: [number, Int32Array][] = [];
    row.forEach((k, at) => {
      const ids = this.#rows.get(k) ?? [];
      this.#rows.set(k, ids);
      ids.push(id[at]!);
      if (!this.#stop.has(id[at]!) && ids.length < this.longest) return;
      const whole = Int32Array.from(ids);
      this.#ended.set(k, whole);
      ended.push([k, whole]);
    });
    return ended;
  }

  /** That what was scored is what the engine gives in the end. */
  check(k: number, ids: Int32Array): void {
    const told = this.#ended.get(k)!;
    if (told.length === ids.length && ids.every((id, t) => id === told[t])) return;
    throw new Error(`answer ${k}: ${told.length} tokens were told, ${ids.length} came`);
  }
}
