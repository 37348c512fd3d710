import type { Judgement, Rollouts } from '../../../shared/algorithms';
import type { AlgorithmInfo } from '../../../shared/contract/algorithms';
import { parseProgram } from '../../../shared/program';
import { AtelierError, issueText, pathOf } from '../../../shared/rpc';
import type { z } from 'zod';
import { IMPORTABLE, strip, type CodeMistake, type RewardScorer } from '../rewards';
import type { UsableAlgorithm } from '../train';
import { Description, judgementOf, Settled, TrainerParams } from './answers';
import { requireCoherence } from './coherence';

/** Milliseconds of one call, of the clock and of the processor; loading the first time takes most of it. */
const CALL_LIMIT = 5_000;

/** The settings do not fit: by field. */
export interface Issue {
  path: string[];
  message: string;
}

/** Algorithms of one's own, run in the sandbox that rewards run in: all that they export are pure functions. */
export class OwnAlgorithms {
  constructor(private readonly sandbox: Pick<RewardScorer, 'call'>) {}

  /** Syntax and imports. */
  async mistakes(code: string): Promise<CodeMistake[]> {
    return (await strip(code, IMPORTABLE)).mistakes;
  }

  /** @throws AtelierError invalid_data with `line`, `column` where they are known */
  async describe(key: string, code: string): Promise<AlgorithmInfo> {
    const found = await this.#call(code, 'describe', {}, Description);
    return { ...found, key, source: 'user' };
  }

  /** The algorithm under these settings. @throws AtelierError invalid_data */
  async settle(
    info: AlgorithmInfo,
    code: string,
    values: Record<string, unknown>,
  ): Promise<{ issues: Issue[] } | { params: Record<string, unknown>; algorithm: UsableAlgorithm }> {
    const settled = await this.#call(code, 'settle', { values }, Settled);
    if ('issues' in settled) return { issues: settled.issues };
    // recorded and given back as its code has answered them
    const { params, needs } = settled;
    const common = TrainerParams.safeParse(params);
    if (!common.success) throw missingParams(common.error);
    const program = (role: 'policy' | 'critic') => {
      try {
        return parseProgram(settled.losses[role]);
      } catch (error) {
        throw new AtelierError(
          'invalid_data',
          `The loss program of the ${role}: ${(error as Error).message}`,
        );
      }
    };
    const losses = {
      policy: program('policy'),
      ...(settled.losses.critic === undefined ? {} : { critic: program('critic') }),
    };
    requireCoherence({ info, needs, params, losses });
    const algorithm: UsableAlgorithm = {
      key: info.key,
      label: info.label,
      metrics: info.metrics,
      headline: info.headline,
      needs: () => needs,
      losses: () => losses,
      steps: async (_, rows) => {
        const steps = await this.#raw(code, 'steps', { params, rows });
        if (typeof steps === 'number' && Number.isInteger(steps) && steps >= 1 && steps <= 10_000_000)
          return steps;
        throw new AtelierError(
          'invalid_data',
          `"steps" must give a whole number from 1; it gave ${String(steps)}.`,
        );
      },
      ...(info.rewarded ? { advantages: (rollouts) => this.#judge(code, rollouts, params) } : {}),
    };
    return { params, algorithm };
  }

  async #judge(code: string, rollouts: Rollouts, params: Record<string, unknown>): Promise<Judgement> {
    const rows = (arrays: Float32Array[]) => arrays.map((array) => Array.from(array));
    const { samplerLogp, refLogp, value, ...rest } = rollouts;
    const plain = {
      ...rest,
      samplerLogp: rows(samplerLogp),
      ...(refLogp ? { refLogp: rows(refLogp) } : {}),
      ...(value ? { value: rows(value) } : {}),
    };
    const judged = await this.#call(
      code,
      'advantages',
      { rollouts: plain, params },
      judgementOf(rollouts.length),
    );
    const { advantage, returns, ...judgement } = judged;
    return {
      ...judgement,
      advantage: advantage.map((one) => (typeof one === 'number' ? one : Float32Array.from(one))),
      ...(returns ? { returns: returns.map((row) => Float32Array.from(row)) } : {}),
    };
  }

  async #call<T extends z.ZodType>(
    code: string,
    name: 'describe' | 'settle' | 'advantages',
    args: unknown,
    schema: T,
  ): Promise<z.output<T>> {
    const parsed = schema.safeParse(await this.#raw(code, name, args));
    if (parsed.success) return parsed.data;
    const issue = parsed.error.issues[0]!;
    const where = pathOf(issue.path);
    const what = name === 'advantages' ? '"advantages" answers with' : 'The algorithm';
    throw new AtelierError('invalid_data', `${what}${where === '' ? '' : ` ${where}`}: ${issueText(issue)}.`);
  }

  async #raw(
    code: string,
    name: 'describe' | 'settle' | 'steps' | 'advantages',
    args: unknown,
  ): Promise<unknown> {
    const { javascript, mistakes } = await strip(code, IMPORTABLE);
    const [first] = mistakes;
    if (first) throw mistakeError(first);
    const answer = await this.sandbox.call(javascript, name, args, CALL_LIMIT);
    if ('mistake' in answer) throw mistakeError(answer.mistake);
    return JSON.parse(answer.result);
  }
}

function mistakeError({ message, line, column }: Partial<CodeMistake> & { message: string }): AtelierError {
  const place = line === undefined ? '' : `line ${line}${column === undefined ? '' : `, column ${column}`}: `;
  return new AtelierError(
    'invalid_data',
    `The algorithm's code, ${place}${message}`,
    'Open it under Algorithms.',
    {
      problem: { line: line ?? 1, column: column ?? 1, message },
    },
  );
}

function missingParams(error: z.ZodError): AtelierError {
  const names = [...new Set(error.issues.map(({ path }) => String(path[0])))].join(', ');
  return new AtelierError(
    'invalid_data',
    `The algorithm's params lack what every trainer reads: ${names}.`,
    'Begin params with ...optimizerParams({ … }) and ...adapterParams(), from ./common.',
  );
}
