import type { AlgorithmInfo, OwnAlgorithm } from '../../../shared/contract/algorithms';
import type { CodeProblem } from '../../../shared/contract/rewards';
import { allMetrics, type Field } from '../../../shared/algorithms';
import { AtelierError } from '../../../shared/rpc';
import type { z } from 'zod';
import { codeHash, type RewardScorer } from '../rewards';
import { AlgorithmStore, type StoredAlgorithm } from './algorithm-store';
import { OwnAlgorithms } from './own-algorithm';
import { tryAlgorithm, type Trial } from './trial';
import { TypeChecker } from './type-check';

type Problem = z.infer<typeof CodeProblem>;

export interface Checked {
  problems: Problem[];
  types: boolean;
  info: AlgorithmInfo | null;
  trial: Trial | null;
}

/** The user's own algorithms, and what is to be said of their code. */
export class Algorithms {
  readonly store: AlgorithmStore;
  readonly own: OwnAlgorithms;
  readonly #types: TypeChecker;
  readonly #described = new Map<string, Promise<{ info: AlgorithmInfo | null; problems: Problem[] }>>();

  constructor(
    home: string,
    sandbox: Pick<RewardScorer, 'call'>,
    /** The app's folder, with its sources. */
    readonly root: string,
  ) {
    this.#types = new TypeChecker(root);
    this.store = new AlgorithmStore(home);
    this.own = new OwnAlgorithms(sandbox);
  }

  async list(): Promise<OwnAlgorithm[]> {
    return Promise.all((await this.store.list()).map((stored) => this.withInfo(stored)));
  }

  async withInfo(stored: StoredAlgorithm): Promise<OwnAlgorithm> {
    return { ...stored, ...(await this.#describe(stored.key, stored.code)) };
  }

  /** As a run takes it: the saved code of a key, or the code given. @throws AtelierError where it has a mistake */
  async find(key: string, given: string | null) {
    const code = given ?? (await this.store.find(key))?.code;
    if (code === undefined) return null;
    const info = await this.own.describe(key, code);
    return {
      label: info.label,
      rewarded: info.rewarded,
      metrics: allMetrics(info),
      fields: info.fields as Field[],
      own: { code, info },
      settle: async (values: Record<string, unknown>) => {
        const settled = await this.own.settle(info, code, values);
        if ('issues' in settled) return { faults: settled.issues };
        await tryAlgorithm(settled.algorithm, settled.params);
        return settled;
      },
    };
  }

  /** Everything that can be known before a run. */
  async check(code: string): Promise<Checked> {
    const mistakes = await this.own.mistakes(code);
    if (mistakes.length > 0) return { problems: mistakes, types: false, info: null, trial: null };
    const [types, tried] = await Promise.all([this.#types.check(code), this.#try(code)]);
    const problems = [...(types ?? []), ...tried.problems];
    return { ...tried, problems, types: types !== null };
  }

  async #try(code: string): Promise<Omit<Checked, 'types'>> {
    try {
      const info = await this.own.describe('mine', code);
      const settled = await this.own.settle(info, code, {});
      if ('issues' in settled) {
        const [{ path, message }] = settled.issues as [(typeof settled.issues)[0]];
        throw new AtelierError(
          'invalid_data',
          `Its own defaults do not fit its params: ${path.join('.')}: ${message}.`,
        );
      }
      const trial = await tryAlgorithm(settled.algorithm, settled.params);
      return { problems: [], info, trial };
    } catch (error) {
      return { problems: [problemOf(error)], info: null, trial: null };
    }
  }

  #describe(key: string, code: string) {
    const id = `${key} ${codeHash(code)}`;
    const known = this.#described.get(id);
    if (known) return known;
    const described = this.own
      .describe(key, code)
      .then((info) => ({ info, problems: [] as Problem[] }))
      .catch((error: unknown) => ({ info: null, problems: [problemOf(error)] }));
    this.#described.set(id, described);
    return described;
  }
}

function problemOf(error: unknown): Problem {
  if (!(error instanceof AtelierError) || error.code === 'internal') throw error;
  const place = error.details?.['problem'] as Problem | undefined;
  return place ?? { line: 1, column: 1, message: [error.message, error.hint].filter(Boolean).join(' ') };
}
