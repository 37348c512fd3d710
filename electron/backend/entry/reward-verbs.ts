import type { z } from 'zod';
import type { AtelierContract } from '../../../shared/contract';
import type { Mapping } from '../../../shared/contract/datasets';
import type { ScoredSample } from '../../../shared/contract/rewards';
import { AtelierError, type Handlers } from '../../../shared/rpc';
import { answerOf, first, prepareRows, promptMessages, type PromptRow } from '../datasets';
import type {
  RewardRecord,
  RewardScoring,
  Scored as ScoredAnswer,
  ScoreRequest,
  StoredReward,
} from '../rewards';
import { requireWriter } from '../runs';
import type { EngineHost } from '../system';
import { LatestNumber } from './latest-number';
import type { Library } from './library';
import { openModel } from './sources';

type Scored = z.input<typeof ScoredSample>;
type Settled = Pick<Awaited<ReturnType<RewardScoring['settle']>>, 'takes'>;

/** The verbs of `rewards`; `test` samples completions with the engine, now. */
export function rewardVerbs(library: Library, engineHost: EngineHost): Handlers<AtelierContract>['rewards'] {
  const { rewards, datasets, scoring } = library;
  // settings are the code's own: only code that declares some is loaded for a list
  const described = async (reward: StoredReward) => ({
    ...reward,
    params: /\bparams\b/.test(reward.code) ? (await scoring.describe(reward)).params : [],
  });
  return {
    list: async () => Promise.all((await rewards.list()).map((reward) => described(reward))),
    save: async (input) => described(await rewards.save(input)),
    async remove({ id }) {
      await rewards.remove(id);
      return {};
    },
    async check(reward) {
      const { problems, params } = await scoring.describe(reward);
      return { problems, params };
    },
    access: (reward) => scoring.access(reward),
    allow({ allowed, ...reward }) {
      scoring.allow(reward, allowed);
      return {};
    },
    setKey({ address, key }) {
      scoring.setKey(address, key);
      return {};
    },
    async *test(input, { signal }) {
      const total = input.prompts * input.samples;
      yield { kind: 'progress', phase: 'loading', done: 0, total };
      const reward = await scoring.settle(input);
      const model = await openModel(library, input.model);
      requireWriter(model, null);
      const maxTokens = model.contextLength - input.maxNewTokens;
      if (maxTokens < 1) {
        throw new AtelierError(
          'invalid_input',
          `${model.name} has room for ${model.contextLength} tokens, prompt included.`,
          'Choose a shorter longest answer.',
          { path: 'maxNewTokens' },
        );
      }
      const prompts = await somePrompts(library, input, maxTokens, model);
      const lease = await engineHost.acquire(model.path, model.bytes);
      try {
        const engine = await engineHost.engine();
        const count = new LatestNumber();
        const generation = engine
          .generate(
            {
              model: lease.model.id,
              adapter: null,
              prompts: prompts.map((prompt) => prompt.ids),
              samplesPerPrompt: input.samples,
              maxNewTokens: input.maxNewTokens,
              temperature: input.temperature,
              stopIds: model.text.stopIds,
              seed: input.seed,
            },
            { signal, onProgress: ({ finished }) => count.set(finished) },
          )
          .finally(() => count.end());
        generation.catch(() => undefined);
        for await (const done of count) {
          yield { kind: 'progress', phase: 'generating', done, total: prompts.length * input.samples };
        }
        const { rows } = await generation;
        yield { kind: 'progress', phase: 'scoring', done: 0, total: rows.length };
        const records = await Promise.all(
          rows.map(async (row): Promise<RewardRecord> => {
            const completion = await model.text.decode(row.ids);
            return record(prompts[row.prompt]!, completion, Array.from(row.ids));
          }),
        );
        const scores = await scoreByPrompt(
          scoring,
          { ...reward, seed: input.seed },
          records,
          rows.map((row) => row.prompt),
          signal,
        );
        yield {
          kind: 'samples',
          samples: rows.map((row, index): Scored => ({
            index,
            line: prompts[row.prompt]!.line,
            group: row.prompt,
            prompt: records[index]!.prompt,
            completion: records[index]!.completion,
            answer: records[index]!.answer,
            finish: row.finish,
            ...scores[index]!,
          })),
        };
      } finally {
        lease.release();
      }
    },
    async score(input, { signal }) {
      const open = await datasets.open(input.dataset, input.mapping, 'rollouts');
      const wanted = new Set(input.samples.map((sample) => sample.line));
      const found = new Map<number, Record<string, unknown>>();
      for await (const { line, row } of open.rows) {
        if (wanted.has(line)) found.set(line, row);
        if (found.size === wanted.size) break;
      }
      const samples = input.samples.map(({ line, prompt, completion }): RewardRecord => {
        const row = found.get(line);
        if (!row) throw new AtelierError('not_found', `The data set has no line ${line} (any more).`);
        return {
          prompt,
          completion,
          answer: answerOf(row, open.mapping),
          messages: [...promptMessages(row, open.mapping), { role: 'assistant', content: completion }],
          row,
          tokens: null,
        };
      });
      const reward = { ...(await scoring.settle(input)), seed: 0 };
      const lines = input.samples.map(({ line }) => line);
      return scoreByPrompt(scoring, reward, samples, lines, signal);
    },
  };
}

/** As in training: a batch function is given the answers to one prompt. `prompts` [samples]. */
async function scoreByPrompt(
  scoring: RewardScoring,
  {
    language,
    code,
    params,
    seed,
    takes,
  }: Pick<ScoreRequest, 'language' | 'code' | 'params' | 'seed'> & Settled,
  samples: readonly RewardRecord[],
  prompts: readonly number[],
  signal: AbortSignal,
): Promise<ScoredAnswer[]> {
  const breaks = { count: 0 };
  const scored: ScoredAnswer[] = [];
  const all = samples.map((_, k) => k);
  const parts =
    takes === 'answer'
      ? [all]
      : [...new Set(prompts)].map((prompt) => all.filter((k) => prompts[k] === prompt));
  for (const indices of parts) {
    const request = { language, code, params, seed, step: 0, breaks, indices };
    const some = await scoring.score({ ...request, samples: indices.map((k) => samples[k]!) }, signal);
    indices.forEach((k, n) => (scored[k] = some[n]!));
  }
  return scored;
}

async function somePrompts(
  library: Library,
  input: { dataset: string; mapping: Mapping; prompts: number },
  maxTokens: number,
  model: Awaited<ReturnType<typeof openModel>>,
): Promise<PromptRow[]> {
  const open = await library.datasets.open(input.dataset, input.mapping, 'rollouts');
  const options = { text: model.text, mapping: open.mapping, maxTokens };
  // some rows may be of no use; a few more are read than are wanted
  const { rows, dropped } = await prepareRows('rollouts', first(open.rows, input.prompts * 4), options);
  if (rows.length > 0) return rows.slice(0, input.prompts);
  throw new AtelierError(
    'invalid_data',
    `No prompt of the data set can be used. ${dropped.list()[0]?.message ?? ''}`.trim(),
  );
}

function record(prompt: PromptRow, completion: string, tokens: number[]): RewardRecord {
  return {
    prompt: prompt.text,
    completion,
    answer: prompt.answer,
    messages: [...prompt.messages, { role: 'assistant', content: completion }],
    row: prompt.row,
    tokens,
  };
}
