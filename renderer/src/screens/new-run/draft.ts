import { z } from 'zod';
import { hasEffect, type About, type DataKind } from '../../../../shared/algorithms';
import { AlgorithmInfo } from '../../../../shared/contract/algorithms';
import { Mapping as Columns } from '../../../../shared/contract/datasets';
import { RewardParams } from '../../../../shared/contract/rewards';
import type { Fit, RunConfigInput } from '../../../../shared/contract/runs';
import { demoParams } from '../../data/demo';
import type { Dataset, Mapping, Model, Reward } from '../../data/library';

const ChosenReward = z.object({
  /** null: not chosen yet. */
  id: z.string().nullable(),
  weight: z.number(),
  params: RewardParams,
});
export type ChosenReward = z.infer<typeof ChosenReward>;

/** The choice to hold out a part of the data itself. */
export const OWN_PART = '\u0000part';

/** A model beside the policy's, with what a run has taught it where one is named. */
const Role = z.object({ model: z.string(), run: z.string().nullable() });
export type Role = z.infer<typeof Role>;

/** An algorithm of one's own as a run recorded it: what is saved under its key may have changed since, or be gone. */
const Recorded = z.object({ code: z.string(), info: AlgorithmInfo });
export type Recorded = z.infer<typeof Recorded>;

/** The form's value. Settings are kept for each algorithm, so that trying another one loses nothing. */
export const Draft = z.object({
  name: z.string(),
  algorithm: z.string(),
  /** Of the run that is repeated; its key is its own, whatever is chosen now. */
  recorded: Recorded.nullable().default(null),
  model: z.string().nullable(),
  dataset: z.string().nullable(),
  /** null: as the data set suggests. */
  mapping: z.object(Columns.shape).nullable(),
  heldOut: z.string().nullable().optional(),
  heldOutRows: z.number(),
  /** With `heldOut` OWN_PART: a share below 1, or a number of rows; and which ones. */
  heldOutPart: z.number().default(0.1),
  heldOutSeed: z.number().default(0),
  dropDuplicates: z.boolean().default(false),
  /** null: as the data set suggests. */
  rewards: z.array(ChosenReward).nullable(),
  teacher: Role.nullable().default(null),
  rewardModel: Role.nullable().default(null),
  params: z.record(z.string(), z.record(z.string(), z.unknown())),
  seed: z.number(),
  checkpointEvery: z.number(),
  /** null: chosen when the run starts. */
  microTokens: z.number().nullable().default(null),
});
export type Draft = z.infer<typeof Draft>;

export const emptyDraft = (): Draft => ({
  name: '',
  algorithm: 'grpo',
  recorded: null,
  model: null,
  dataset: null,
  mapping: null,
  heldOutRows: 128,
  heldOutPart: 0.1,
  heldOutSeed: 0,
  dropDuplicates: false,
  rewards: null,
  teacher: null,
  rewardModel: null,
  params: {},
  seed: 0,
  checkpointEvery: 20,
  microTokens: null,
});

export interface Library {
  models: readonly Model[];
  datasets: readonly Dataset[];
  rewards: readonly Reward[];
  algorithms: readonly About[];
}

/** A place for a reward that is still to be chosen. */
export const noReward: ChosenReward = { id: null, weight: 1, params: {} };

/** The draft with what is left open filled from what there is. */
export interface Resolved {
  /** undefined: there is none of this key, or its code has a mistake. */
  algorithm: About | undefined;
  model: Model | undefined;
  dataset: Dataset | undefined;
  mapping: Mapping;
  rewards: (ChosenReward & { reward: Reward | undefined })[];
  /** Id of the data set that is held out, OWN_PART, or null for none. */
  heldOut: string | null;
  name: string;
}

export function resolve(draft: Draft, library: Library): Resolved {
  const algorithm = library.algorithms.find((each) => each.key === draft.algorithm);
  const kind = algorithm?.data ?? 'examples';
  const models = library.models.filter((model) => model.state === 'ready' && canLearn(model, algorithm));
  const datasets = library.datasets.filter((dataset) => dataset.state === 'ready');
  const model =
    models.find((each) => each.id === draft.model) ?? (draft.model === null ? models[0] : undefined);
  const dataset =
    datasets.find((each) => each.id === draft.dataset) ??
    (draft.dataset === null ? (datasets.find((each) => madeFor(each, kind)) ?? datasets[0]) : undefined);
  const chosen = draft.rewards ?? [{ ...noReward, id: dataset?.suggestedReward ?? null }];
  return {
    algorithm,
    model,
    dataset,
    mapping: draft.mapping ?? dataset?.mapping ?? {},
    rewards: chosen.map((each) => ({
      ...each,
      reward: library.rewards.find((reward) => reward.id === each.id),
    })),
    heldOut: draft.heldOut === undefined ? (dataset?.heldOut ?? null) : draft.heldOut,
    name:
      draft.name.trim() === ''
        ? suggestedName(algorithm?.label ?? draft.algorithm, model, dataset)
        : draft.name.trim(),
  };
}

function suggestedName(algorithm: string, model: Model | undefined, dataset: Dataset | undefined): string {
  return [algorithm, dataset?.name, model?.name]
    .filter((part) => part !== undefined)
    .join(', ')
    .slice(0, 120);
}

/** What is asked of the backend; null while model or data are missing. */
export function toConfig(draft: Draft, resolved: Resolved): RunConfigInput | null {
  const { algorithm, model, dataset } = resolved;
  if (model === undefined || dataset === undefined) return null;
  const rollouts = algorithm?.rewarded === true;
  return {
    format: 2,
    name: resolved.name,
    algorithm: draft.algorithm,
    algorithmCode: draft.recorded?.info.key === draft.algorithm ? draft.recorded.code : null,
    model: model.id,
    data: {
      dataset: dataset.id,
      mapping: resolved.mapping,
      dropDuplicates: draft.dropDuplicates,
      heldOut: heldOutOf(draft, resolved.heldOut),
    },
    rewards: rollouts
      ? resolved.rewards.flatMap(({ reward, weight, params: values }) =>
          reward === undefined ? [] : [{ id: reward.id, weight, params: values }],
        )
      : [],
    rewardModel: rollouts ? roleConfig(draft.rewardModel) : null,
    teacher: algorithm?.taught === true ? roleConfig(draft.teacher) : null,
    params: inEffect(algorithm, { ...suggested(algorithm, model), ...draft.params[draft.algorithm] }),
    seed: draft.seed,
    checkpointEvery: draft.checkpointEvery,
    microTokens: draft.microTokens,
  };
}

/** The form with a run divided so. */
export function withFit(
  draft: Draft,
  { microTokens, recompute, packing }: Fit,
): Pick<Draft, 'microTokens' | 'params'> {
  const own = { ...draft.params[draft.algorithm], recompute, ...(packing === null ? {} : { packing }) };
  return { microTokens, params: { ...draft.params, [draft.algorithm]: own } };
}

/** Settings, as they come where they do nothing under the others: what the form does not show is not asked for. */
function inEffect(algorithm: About | undefined, values: Record<string, unknown>): Record<string, unknown> {
  const hidden = (algorithm?.fields ?? []).filter((field) => !hasEffect(field, values, {}));
  return { ...values, ...Object.fromEntries(hidden.map((field) => [field.key, field.default])) };
}

function heldOutOf(draft: Draft, chosen: string | null): RunConfigInput['data']['heldOut'] {
  if (chosen === null) return null;
  const rows = draft.heldOutRows;
  if (chosen !== OWN_PART) return { dataset: chosen, rows };
  return { part: draft.heldOutPart, seed: draft.heldOutSeed, rows };
}

const roleConfig = (role: Role | null) =>
  role && { model: role.model, adapter: role.run === null ? null : { run: role.run } };

const roleDraft = (role: RunConfigInput['teacher']): Role | null =>
  role ? { model: role.model, run: role.adapter?.run ?? null } : null;

/**
 * The algorithm's defaults, with lengths that the model has room for: answers leave half of it to the prompt. For the
 * bundled model, the settings under which it learns within minutes.
 */
export function suggested(algorithm: About | undefined, model: Model | undefined): Record<string, unknown> {
  if (algorithm === undefined) return {};
  const context = model?.contextLength ?? Infinity;
  const room = algorithm.rewarded ? Math.floor(context / 2) : context;
  const values = algorithm.fields.map(({ key, unit, default: value }) => [
    key,
    unit === 'tokens' && typeof value === 'number' ? Math.min(value, room) : value,
  ]);
  return { ...Object.fromEntries(values), ...demoParams(model?.id, algorithm.key) };
}

/** A draft that repeats a run's choices; `own`: what its algorithm is, where it is none of the app. */
export function fromConfig(config: RunConfigInput, own: AlgorithmInfo | null = null): Draft {
  const code = config.algorithmCode ?? null;
  return {
    ...emptyDraft(),
    name: `${config.name.slice(0, 100)}, again`,
    algorithm: config.algorithm,
    recorded: own && code !== null ? { code, info: { ...own, key: config.algorithm } } : null,
    model: config.model,
    dataset: config.data.dataset,
    mapping: config.data.mapping ?? null,
    ...heldOutDraft(config.data.heldOut ?? null),
    dropDuplicates: config.data.dropDuplicates ?? false,
    rewards: (config.rewards ?? []).map((reward) => ({
      id: 'id' in reward ? reward.id : null,
      weight: reward.weight ?? 1,
      params: reward.params ?? {},
    })),
    rewardModel: roleDraft(config.rewardModel),
    teacher: roleDraft(config.teacher),
    params: { [config.algorithm]: config.params ?? {} },
    seed: config.seed ?? 0,
    checkpointEvery: config.checkpointEvery ?? 20,
    microTokens: config.microTokens ?? null,
  };
}

function heldOutDraft(heldOut: NonNullable<RunConfigInput['data']['heldOut']> | null): Partial<Draft> {
  if (heldOut === null) return { heldOut: null };
  const rows = { heldOutRows: heldOut.rows ?? 128 };
  if ('dataset' in heldOut) return { heldOut: heldOut.dataset, ...rows };
  return { heldOut: OWN_PART, heldOutPart: heldOut.part, heldOutSeed: heldOut.seed ?? 0, ...rows };
}

/** A reward model writes no texts: it can only learn to score. */
export const canLearn = ({ scalarHead }: Model, algorithm: About | undefined): boolean =>
  !scalarHead || algorithm?.scalarHead === true;

/** Whether a data set is made for what an algorithm learns from. */
export function madeFor({ type, suggestedReward }: Dataset, kind: DataKind): boolean {
  if (kind === 'rollouts') return suggestedReward !== null;
  if (kind === 'pairs') return type === 'preference';
  if (kind === 'rated') return type === 'unpaired-preference';
  return ['messages', 'sharegpt', 'prompt-completion', 'alpaca', 'text'].includes(type);
}

/** The algorithms of a library, with one that a run recorded in the place of what is saved under its key. */
export function withRecorded(algorithms: readonly About[], recorded: Recorded | null): readonly About[] {
  if (recorded === null) return algorithms;
  const others = algorithms.filter(({ key }) => key !== recorded.info.key);
  return [...others, recorded.info as About];
}

/** The algorithms by what they learn from, as they are offered. */
export const learnsFrom = (algorithms: readonly About[]) =>
  GROUPS.map((each) => ({ ...each, algorithms: algorithms.filter(({ data }) => data === each.kind) })).filter(
    (each) => each.algorithms.length > 0,
  );

const GROUPS: readonly { kind: DataKind; title: string; needs: string }[] = [
  { kind: 'rollouts', title: 'From rewards', needs: 'needs prompts and a reward' },
  { kind: 'examples', title: 'From answers', needs: 'needs answers to learn' },
  { kind: 'rated', title: 'From rated answers', needs: 'needs answers marked good or bad' },
  { kind: 'pairs', title: 'From pairs', needs: 'needs a better and a worse answer to each prompt' },
];
