import type { NewEvent } from '../store';
import type { Gathered } from './gathered';
import { MEMORY, percent, RULES, WINDOW, type Act, type Observed, type Verdict } from './health-rules';

/** Steps in a row for which a rule must be silent until it is over: a share at its limit would flap. */
const QUIET_STEPS = 10;
const SEVERITY: Record<Act, number> = { warn: 0, pause: 1, stop: 2 };

/** `act` is null where only the end of something is told. */
export interface Finding {
  event: NewEvent;
  act: Act | null;
}

type PastStep = { step: number; metrics: Record<string, number> };

/** Rules on a run's steps, in plain words. Each speaks when what it watches begins, worsens and is over. */
export class Health {
  readonly #early: Record<string, number>[] = [];
  readonly #recent: Observed[] = [];
  readonly #active = new Map<string, { act: Act; since: number; quiet: number }>();
  #firstDead: number | null = null;
  #held = 0;

  /** `past`: the first WINDOW and the last MEMORY steps that are stored, in order: what was said is not said again. */
  constructor(past: readonly PastStep[]) {
    for (const { step, metrics } of past)
      this.observe(step, { metrics, rewards: [], refused: 0, still: null });
  }

  /** Steps whose metrics `past` should have, for a run that stands at `step`. */
  static past(step: number): number[] {
    return Array.from({ length: step }, (_, k) => k + 1).filter((k) => k <= WINDOW || k > step - MEMORY);
  }

  /** A step that was learnt. */
  observe(step: number, observed: Observed): Finding[] {
    if (this.#early.length < WINDOW) this.#early.push(observed.metrics);
    this.#recent.push(observed);
    if (this.#recent.length > MEMORY) this.#recent.shift();
    const seen = { step, early: this.#early, recent: this.#recent };
    return RULES.flatMap(({ code, judge, over }) => this.#told(step, code, judge(seen), over));
  }

  /** A step's rewards, before it is learnt: `pause` asks to hold the step back. */
  rewards(step: number, gathered: Gathered): Finding[] {
    if (gathered.rollouts.length === 0) return [];
    if (gathered.alive) this.#firstDead = null;
    else this.#firstDead ??= step;
    return [
      ...this.#told(step, 'reward_failing', failing(gathered), 'The reward works for most answers again.'),
      ...this.#told(step, 'nothing_rewarded', this.#dead(step), 'Answers can be compared again.'),
    ];
  }

  /** A step is held back once: when it comes again, its person has seen what is wrong and wants to go on. */
  held(step: number): void {
    this.#held = step;
  }

  #dead(step: number): Verdict | null {
    if (this.#firstDead === null) return null;
    const count = step - this.#firstDead + 1;
    if (count < 3) return null;
    // again after three more: going on learns nothing
    if (count % 3 === 0 && this.#held !== step) this.#active.delete('nothing_rewarded');
    return {
      act: 'pause',
      message: `No group had two rewarded answers for ${count} steps: nothing is learnt.`,
      hint: 'The reward abstains or fails too often: test it on real samples.',
    };
  }

  #told(step: number, code: string, verdict: Verdict | null, over?: string): Finding[] {
    const active = this.#active.get(code);
    if (!verdict) {
      if (!active || ++active.quiet < QUIET_STEPS) return [];
      this.#active.delete(code);
      return over === undefined ? [] : [{ act: null, event: { step, level: 'info', code, message: over } }];
    }
    const { act, message, hint } = verdict;
    // a pause that did not come about, on a full disk say, is asked for again
    const unheard = act === 'pause' && active?.since === step && this.#held !== step;
    if (active && !unheard && SEVERITY[act] <= SEVERITY[active.act]) {
      active.quiet = 0;
      return [];
    }
    this.#active.set(code, { act, since: step, quiet: 0 });
    const answered = act === 'pause' && this.#held === step;
    const level = act === 'warn' || answered ? 'warning' : 'error';
    return [{ act: answered ? 'warn' : act, event: { step, level, code, message, hint } }];
  }
}

function failing({ failed, total, firstFailure }: Gathered): Verdict | null {
  const share = failed / total;
  if (!(share > 0.05)) return null;
  return {
    act: share > 0.2 ? 'pause' : 'warn',
    message: `The reward failed for ${percent(share)} of the answers. ${firstFailure ?? ''}`.trim(),
    hint: 'Answers without a reward are left out, never counted as 0.',
  };
}

/** Held-out measures that learning should move, which way (1: up), and what is said where it did not. */
const GAINS = [
  ['held_out/sampled', 1, 'the reward did not rise'],
  ['held_out/margin', 1, 'better and worse answers are told apart no better'],
  ['held_out/nll', -1, 'the loss did not fall'],
] as const;

/** Whether what was learnt shows on rows that it was not learnt from; null where it does, or cannot be told. */
export function heldOutFinding(
  step: number,
  before: Record<string, number>,
  after: Record<string, number>,
): NewEvent | null {
  const found = GAINS.find(([key]) => key in after);
  if (!found) return null;
  const [key, sign, what] = found;
  const [from, to] = [before[key] ?? NaN, after[key] ?? NaN];
  if (!(sign * (to - from) <= 0)) return null;
  return {
    step,
    level: 'warning',
    code: 'held_out_no_gain',
    message: `On the held-out rows ${what}: ${from.toFixed(3)} before, ${to.toFixed(3)} after.`,
    hint: 'What was learnt may not carry over, or has broken the text: compare it with the base model in Chat.',
  };
}
