import { createHash } from 'node:crypto';
import type {
  CodeProblem,
  RewardAccess,
  RewardLanguage,
  RewardParam,
  RewardParams,
} from '../../../shared/contract/rewards';
import { AtelierError } from '../../../shared/rpc/errors';
import type { z } from 'zod';
import type { AccessFile } from './access-file';
import { codeHash, strip } from './code';
import type { Scored, ScoreRequest, Takes } from './contract';
import { declaredParams, settleParams } from './params';
import { readJudge } from './judge/judge-file';
import { notAllowed, type JudgeScorer } from './judge/judge-scorer';
import type { PythonScorer } from './python/python-scorer';
import type { RewardScorer } from './scorer';

export interface RewardCode {
  language: RewardLanguage;
  code: string;
}

interface Description {
  problems: z.infer<typeof CodeProblem>[];
  params: RewardParam[];
  takes: Takes;
}

/** Every kind of reward behind one door: what is wrong with it, which settings it has, what it gives. */
export class RewardScoring {
  readonly #described = new Map<string, Promise<Description>>();

  constructor(
    private readonly kinds: { typescript: RewardScorer; python: PythonScorer; judge: JudgeScorer },
    private readonly file: AccessFile,
  ) {}

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

  async #describe({ language, code }: RewardCode): Promise<Description> {
    const wrong = (problems: Description['problems']): Description => ({
      problems,
      params: [],
      takes: 'answer',
    });
    if (language === 'python') {
      const { mistakes, batch } = await this.kinds.python.inspect(code);
      return { ...wrong(mistakes), takes: batch ? 'group' : 'answer' };
    }
    if (language === 'judge') return wrong(judgeProblems(code));
    const { javascript, mistakes } = await strip(code);
    if (mistakes.length > 0) return wrong(mistakes);
    const { mistake, params } = await this.kinds.typescript.inspect(javascript);
    if (mistake) {
      const { message, line = 1, column = 1 } = mistake;
      return wrong([{ line, column, message }]);
    }
    try {
      // the sandbox is new for each call, which costs more than most rewards: a prompt's answers share one
      return { problems: [], params: declaredParams(params), takes: 'group' };
    } catch (error) {
      if (!(error instanceof AtelierError)) throw error;
      return wrong([{ line: 1, column: 1, message: error.message }]);
    }
  }

  /** A reward that can be used, with its settings complete. @throws AtelierError invalid_input */
  async settle<R extends RewardCode & { params: RewardParams }>(reward: R): Promise<R & { takes: Takes }> {
    const { problems, params, takes } = await this.describe(reward);
    const [mistake] = problems;
    if (mistake) {
      throw new AtelierError(
        'invalid_input',
        `The reward: line ${mistake.line}, column ${mistake.column}: ${mistake.message}`,
        'Open it in the reward editor.',
      );
    }
    const access = await this.access(reward);
    if (access.kind === 'judge' && !access.allowed) throw notAllowed(access.address!);
    return { ...reward, params: settleParams(params, reward.params), takes };
  }

  /** One result a sample, in order. Throws only where the code cannot be used at all. */
  score(request: ScoreRequest, signal?: AbortSignal): Promise<Scored[]> {
    return this.kinds[request.language].score(request, signal);
  }

  /** What a reward may reach, and whether a person allowed it. */
  async access({ language, code }: RewardCode): Promise<RewardAccess> {
    if (language === 'typescript') return { kind: 'sandbox' };
    if (language === 'python') {
      const state = await this.kinds.python.state();
      return { kind: 'python', state, allowed: state.confined || this.file.allowsCode(codeHash(code)) };
    }
    if (judgeProblems(code).length > 0)
      return { kind: 'judge', address: null, model: null, allowed: false, hasKey: false };
    const { address, settings } = readJudge(code);
    return {
      kind: 'judge',
      address,
      model: settings.model,
      allowed: this.file.allowsJudge(address),
      hasKey: this.file.key(address) !== null,
    };
  }

  /** A person's consent. */
  allow({ language, code }: RewardCode, allowed: boolean): void {
    if (language === 'python') this.file.allow('code', codeHash(code), allowed);
    if (language === 'judge') this.file.allow('judges', readJudge(code).address, allowed);
    this.#described.clear();
  }

  setKey(address: string, key: string | null): void {
    this.file.setKey(address, key);
  }

  async close(): Promise<void> {
    await this.kinds.typescript.close();
    await this.kinds.python.close();
  }
}

function judgeProblems(code: string): Description['problems'] {
  try {
    readJudge(code);
    return [];
  } catch (error) {
    if (!(error instanceof AtelierError)) throw error;
    return [{ line: Number(error.details?.['line'] ?? 1), column: 1, message: error.message }];
  }
}
