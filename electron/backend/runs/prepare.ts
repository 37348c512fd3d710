import { createHash } from 'node:crypto';
import type { Engine } from '../../../native/face';
import type { CommonParams, DataKind } from '../../../shared/algorithms';
import type { LeftOut } from '../../../shared/contract/datasets';
import type { FrozenReward, RunConfig } from '../../../shared/contract/runs';
import { AtelierError } from '../../../shared/rpc';
import { sequencesOf, type RowList, type RowOf } from '../datasets';
import { isPlain, type RunData } from '../train';
import { tokenBudget, type Checked } from './check-config';
import { HeldOutPart } from './held-out-part';
import type { Rows, Sources, UsableModel } from './sources';

export interface PreparedData {
  data: RunData;
  /** Rows that are left out: of the data set, and of the held-out one. */
  left: LeftOut[];
  heldOutLeft: LeftOut[];
  /** Held-out rows that are measured, also where they were not looked for. */
  heldOutRows: number;
  hash: string;
  /** Rows of the data set that an algorithm can use: all of them, or an estimate from the first. */
  usable: number;
  /** Its rows may lie on disk. */
  close(): void;
}

export interface PrepareOptions {
  /** Only the first rows are read, and held-out ones that would have to be looked for are not. */
  limit?: number;
  signal?: AbortSignal;
  onProgress?: (done: number, total: number) => void;
}

/** Reads and tokenises the rows of a run, held-out ones too. @throws AtelierError invalid_data */
export async function prepareData(
  config: RunConfig,
  checked: Checked,
  sources: Sources,
  { limit, ...watch }: PrepareOptions = {},
): Promise<PreparedData> {
  const { needs, model } = checked;
  const { dataset, mapping, heldOut, dropDuplicates } = config.data;
  const options = {
    ...watch,
    mapping,
    model,
    maxTokens: tokenBudget(needs, model),
    completionOnly: needs.completionOnly ?? true,
  };
  const all = await sources.count(dataset, limit);
  const part = heldOut && 'part' in heldOut ? new HeldOutPart(all, heldOut.part, heldOut.seed) : null;
  if (part && part.count >= all) {
    throw new AtelierError(
      'invalid_data',
      `All ${all} rows of "${dataset}" would be held out: none is left to train on.`,
      'Hold out a smaller part.',
      { path: 'data.heldOut.part' },
    );
  }
  const main = await sources.rows(needs.data, dataset, {
    ...options,
    dropDuplicates,
    ...(limit === undefined ? {} : { limit }),
    ...(part ? { only: (row) => !part.has(row) } : {}),
  });
  let held: Rows<RowOf[DataKind]> | null = null;
  try {
    held = await heldOutRows();
    requireRows(main, dataset, 'data.mapping');
    if (heldOut && held) requireRows(held, 'part' in heldOut ? dataset : heldOut.dataset, 'data.heldOut');
    const looked = main.rows.length + leftOut(main.left);
    const readable = all - (part?.count ?? 0);
    return {
      // the two are of the kind that was asked for
      data: { kind: needs.data, rows: main.rows, heldOut: held ? inMemory(held.rows) : [] } as RunData,
      left: main.left,
      heldOutLeft: held?.left ?? [],
      heldOutRows: held ? held.rows.length : Math.min(heldOut?.rows ?? 0, part?.count ?? 0),
      hash: hashRows(main.rows),
      usable:
        limit === undefined || looked < limit
          ? main.rows.length
          : Math.round((readable * main.rows.length) / looked),
      close: () => main.close(),
    };
  } catch (error) {
    main.close();
    throw error;
  } finally {
    held?.close();
  }

  async function heldOutRows(): Promise<Rows<RowOf[DataKind]> | null> {
    if (!heldOut) return null;
    if (!('part' in heldOut))
      return sources.rows(needs.data, heldOut.dataset, { ...options, limit: heldOut.rows });
    if (!part || limit !== undefined) return null;
    return sources.rows(needs.data, dataset, {
      ...options,
      limit: heldOut.rows,
      only: (row) => part.has(row),
    });
  }
}

const inMemory = <Row>(rows: RowList<Row>): Row[] =>
  Array.from({ length: rows.length }, (_, k) => rows.at(k)!);

export const leftOut = (left: readonly LeftOut[]): number => left.reduce((sum, { count }) => sum + count, 0);

/** Identity of the rows as the model reads them. */
function hashRows(rows: RowList<RowOf[DataKind]>): string {
  const hash = createHash('sha256');
  const example = ({ ids, lossMask }: { ids: Int32Array; lossMask: Uint8Array }) =>
    hash.update(ids).update(lossMask);
  for (let k = 0; k < rows.length; k++) {
    const row = rows.at(k)!;
    hash.update(Int32Array.of(row.line, ...sequencesOf(row).map(({ length }) => length)));
    if ('chosen' in row) [row.chosen, row.rejected].forEach(example);
    else if ('lossMask' in row) example(row);
    else hash.update(row.ids).update(row.answer ?? '\0');
    if ('good' in row) hash.update(row.good ? '1' : '0');
  }
  return hash.digest('hex');
}

function requireRows({ rows, left }: Rows<unknown>, dataset: string, path: string): void {
  if (rows.length > 0) return;
  const told = left.map(({ line, message }) => ` Line ${line}: ${message}`).join('.');
  throw new AtelierError(
    'invalid_data',
    `No row of "${dataset}" can be used.${told || ' It is empty.'}`,
    'Check the mapping of its columns, and the longest length.',
    { path },
  );
}

/**
 * What a checkpoint belongs to: with another of these a run would not go on but become another. `params` as the run
 * has stored them: a later version may have more of them, whose defaults change nothing.
 */
export function identity(
  checked: Checked,
  params: RunConfig['params'],
  data: PreparedData,
): Record<string, string> {
  const hash = (text: string) => createHash('sha256').update(text).digest('hex');
  return {
    model: checked.model.hash,
    template: checked.model.templateHash,
    data: data.hash,
    reward: rewardsIdentity(checked.rewards, hash),
    ...(checked.own ? { algorithm: hash(checked.own.code) } : {}),
    ...(checked.teacher && { teacher: hash(JSON.stringify(checked.teacher)) }),
    ...(checked.rewardModel && { rewardModel: hash(JSON.stringify(checked.rewardModel)) }),
    settings: hash(JSON.stringify(Object.entries(params).sort(([a], [b]) => (a < b ? -1 : 1)))),
  };
}

/** Of one reward without weight and settings, its code alone: so has every run that began before there were several. */
function rewardsIdentity(rewards: readonly FrozenReward[], hash: (text: string) => string): string {
  const [first] = rewards;
  if (!first) return 'none';
  if (isPlain(rewards) && Object.keys(first.params).length === 0) return hash(first.code);
  return hash(JSON.stringify(rewards.map(({ code, weight, params }) => [code, weight, params])));
}

/** Padded tokens that a run forwards and differentiates at once: its own choice, else what suits the engine's memory. */
export const microTokensOf = async (
  { microTokens }: Pick<RunConfig, 'microTokens'>,
  engine: Engine,
  model: Pick<UsableModel, 'layers' | 'hiddenSize' | 'bytes'>,
  params: Pick<CommonParams, 'method' | 'recompute'>,
): Promise<number> => microTokens ?? (await chooseMicroTokens(engine, model, params));

/** Bounded by a share of the engine's memory. */
export async function chooseMicroTokens(
  engine: Engine,
  { layers, hiddenSize, bytes }: Pick<UsableModel, 'layers' | 'hiddenSize' | 'bytes'>,
  { method, recompute }: Pick<CommonParams, 'method' | 'recompute'>,
): Promise<number> {
  const { memoryLimitBytes, activeBytes } = await engine.stats();
  // about 34 activations of the hidden size a layer are kept for the backward, in the compute type
  const kept = recompute ? layers + 34 : layers * 34;
  const perToken = kept * hiddenSize * (engine.device === 'cpu' ? 4 : 2);
  // weights, gradient and moments of a whole model come before
  const taken = activeBytes + (method === 'full' ? 4 * bytes : 0);
  const room = Math.max(0, memoryLimitBytes - taken) / 3;
  return Math.max(512, Math.min(32_768, Math.floor(room / perToken)));
}
