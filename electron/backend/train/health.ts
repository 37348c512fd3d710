import type { NewEvent } from '../store';

type Metrics = Record<string, number>;

/** Steps before the same rule speaks again. */
const QUIET_STEPS = 10;
const WINDOW = 10;

/** Rules on a run's metrics, in plain words. `stop` ends the run, `pause` asks its person first. */
export interface Finding {
  event: NewEvent;
  act: 'warn' | 'pause' | 'stop';
}

export class Health {
  readonly #recent: Metrics[] = [];
  readonly #spoke = new Map<string, number>();
  readonly #nonFinite: number[] = [];
  #mismatched = 0;
  #dead = 0;

  /** `first`: metrics of step 1, where the run has it already. */
  constructor(private first: Metrics | null) {}

  observe(step: number, metrics: Metrics): Finding[] {
    this.first ??= metrics;
    this.#recent.push(metrics);
    if (this.#recent.length > WINDOW) this.#recent.shift();
    const found = [
      this.#zeroVariance(),
      this.#truncated(metrics),
      this.#entropy(metrics),
      this.#mismatch(metrics),
    ].filter((finding) => finding !== null);
    return this.#quiet(step, found);
  }

  /** After an update that the engine refused because something was not finite. */
  nonFinite(step: number): Finding {
    this.#nonFinite.push(step);
    const again = this.#nonFinite.filter((s) => step - s < 20).length > 1;
    return {
      act: again ? 'stop' : 'warn',
      event: {
        step,
        level: again ? 'error' : 'warning',
        code: 'non_finite',
        message: again
          ? 'Loss or gradient was not finite twice within 20 steps. The adapter is as at the last checkpoint.'
          : 'Loss or gradient was not finite; this update was left out.',
        hint: 'A lower learning rate usually helps.',
      },
    };
  }

  /** Shares of samples whose reward failed, and whether any group was left to learn from. */
  rewards(step: number, failed: number, total: number, alive: boolean, first: string | null): Finding | null {
    this.#dead = alive ? 0 : this.#dead + 1;
    const share = failed / total;
    const pause = share > 0.2 || this.#dead >= 3;
    if (!pause && share <= 0.05) return null;
    const percent = `${Math.round(share * 100)} %`;
    const finding: Finding = {
      act: pause ? 'pause' : 'warn',
      event: {
        step,
        level: pause ? 'error' : 'warning',
        code: 'reward_failing',
        message:
          share > 0.05
            ? `The reward failed for ${percent} of the answers. ${first ?? ''}`.trim()
            : 'No group had two rewarded answers for 3 steps: nothing is learnt.',
        hint: 'Answers without a reward are left out, never counted as 0. Correct the reward in a new run, or resume.',
      },
    };
    return pause ? finding : (this.#quiet(step, [finding])[0] ?? null);
  }

  #zeroVariance(): Finding | null {
    if (this.#recent.length < WINDOW) return null;
    const share = mean(this.#recent.map((m) => m['reward/zero_variance'] ?? NaN));
    if (!(share > 0.5)) return null;
    const reward = mean(this.#recent.map((m) => m['reward/mean'] ?? NaN));
    return warn(
      'zero_variance',
      `In ${Math.round(share * 100)} % of the groups of the last ${WINDOW} steps all answers got the same reward: they teach nothing.`,
      reward > 0.5
        ? 'The task may have become too easy: harder prompts, or stop here.'
        : 'The task may be too hard, or the reward too coarse: partial credit, easier prompts, or larger groups.',
    );
  }

  #truncated(metrics: Metrics): Finding | null {
    const share = metrics['rollout/truncated'] ?? NaN;
    if (!(share > 0.25)) return null;
    return warn(
      'truncated',
      `${Math.round(share * 100)} % of the answers were cut off at the length limit.`,
      'Raise the longest answer.',
    );
  }

  #entropy(metrics: Metrics): Finding | null {
    const now = metrics['policy/entropy'] ?? NaN;
    const first = this.first?.['policy/entropy'] ?? NaN;
    if (now < 0.2 * first) {
      return warn(
        'entropy_low',
        `Entropy has fallen to ${Math.round((100 * now) / first)} % of the first step's: answers are becoming alike.`,
        'A lower learning rate or a small entropy bonus keeps variety.',
      );
    }
    if (now > 2 * first) {
      return warn(
        'entropy_high',
        `Entropy has risen to ${(now / first).toFixed(1)} times the first step's: the text may be breaking down.`,
        'A lower learning rate usually helps.',
      );
    }
    return null;
  }

  #mismatch(metrics: Metrics): Finding | null {
    const gap = metrics['policy/sampler_mismatch'] ?? NaN;
    this.#mismatched = gap > 0.5 ? this.#mismatched + 1 : 0;
    if (this.#mismatched >= 3) {
      return {
        act: 'stop',
        event: {
          step: 0,
          level: 'error',
          code: 'sampler_mismatch',
          message: `Sampler and trainer disagree by ${gap.toFixed(2)} nats a token for 3 steps: the ratios mean nothing.`,
          hint: 'With several updates per step, fewer of them or a lower learning rate; else this is a fault of the engine.',
        },
      };
    }
    if (!(gap > 0.02)) return null;
    return warn(
      'sampler_mismatch',
      `Sampler and trainer disagree by ${gap.toFixed(3)} nats a token.`,
      'Normal with several updates per step; with one it is a numerical fault.',
    );
  }

  #quiet(step: number, found: Finding[]): Finding[] {
    return found
      .filter(
        ({ act, event }) =>
          act !== 'warn' || step - (this.#spoke.get(event.code) ?? -Infinity) >= QUIET_STEPS,
      )
      .map((finding) => {
        this.#spoke.set(finding.event.code, step);
        return { ...finding, event: { ...finding.event, step } };
      });
  }
}

function warn(code: string, message: string, hint: string): Finding {
  return { act: 'warn', event: { step: 0, level: 'warning', code, message, hint } };
}

function mean(values: number[]): number {
  const finite = values.filter((value) => Number.isFinite(value));
  return finite.length === 0 ? NaN : finite.reduce((sum, value) => sum + value, 0) / finite.length;
}
