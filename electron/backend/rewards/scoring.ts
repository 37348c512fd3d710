import { createHash } from 'node:crypto';
import type {
  CodeProblem,
  RewardLanguage,
  RewardParam,
  RewardParams,
} from '../../../shared/contract/rewards';
import { AtelierError } from '../../../shared/rpc/errors';
import type { z } from 'zod';
import { strip } from './code';
import type { Scored, ScoreRequest } from './contract';
import { declaredParams, settleParams } from './params';
import type { RewardScorer } from './scorer';

export interface RewardCode {
  language: RewardLanguage;
  code: string;
}

interface Description {
  problems: z.infer<typeof CodeProblem>[];
  params: RewardParam[];
}

/** Every kind of reward behind one door: what is wrong with it, which settings it has, what it gives. */
export class RewardScoring {
  readonly #described = new Map<string, Promise<Description>>();

  constructor(private readonly kinds: { typescript: RewardScorer }) {}

  /** Syntax, then the module itself: does it load, and is there a function to call? No data is touched. */
  describe(reward: RewardCode): Promise<Description> {
    const key = createHash('sha256').update(`${reward.language}\n${reward.code}`).digest('hex');
    const known = this.#described.get(key);
    if (known) return known;
    if (this.#described.size > 256) this.#described.clear();
    const described = this.#describe(reward);
    this.#described.set(key, described);
    described.catch(() => this.#described.delete(key));
    return described;
  }

  async #describe({ code }: RewardCode): Promise<Description> {
    const { javascript, mistakes } = await strip(code);
    if (mistakes.length > 0) return { problems: mistakes, params: [] };
    const { mistake, params } = await this.kinds.typescript.inspect(javascript);
    if (mistake) {
      const { message, line = 1, column = 1 } = mistake;
      return { problems: [{ line, column, message }], params: [] };
    }
    try {
      return { problems: [], params: declaredParams(params) };
    } catch (error) {
      if (!(error instanceof AtelierError)) throw error;
      return { problems: [{ line: 1, column: 1, message: error.message }], params: [] };
    }
  }

  /** A reward that can be used, with its settings complete. @throws AtelierError invalid_input */
  async settle<R extends RewardCode & { params: RewardParams }>(reward: R): Promise<R> {
    const { problems, params } = await this.describe(reward);
    const [mistake] = problems;
    if (mistake) {
      throw new AtelierError(
        'invalid_input',
        `The reward: line ${mistake.line}, column ${mistake.column}: ${mistake.message}`,
        'Open it in the reward editor.',
      );
    }
    return { ...reward, params: settleParams(params, reward.params) };
  }

  /** One result a sample, in order. Throws only where the code cannot be used at all. */
  score(request: ScoreRequest, signal?: AbortSignal): Promise<Scored[]> {
    return this.kinds.typescript.score(request, signal);
  }

  async close(): Promise<void> {
    await this.kinds.typescript.close();
  }
}
