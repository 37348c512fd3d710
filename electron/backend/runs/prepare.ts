import { createHash } from 'node:crypto';
import type { Engine, ModelInfo } from '../../../native/face';
import type { DataKind } from '../../../shared/algorithms';
import type { FrozenReward, RunConfig } from '../../../shared/contract/runs';
import { AtelierError } from '../../../shared/rpc';
import { isPlain, sequencesOf, type RowOf, type RunData } from '../train';
import { tokenBudget, type Checked } from './check-config';
import type { LeftOut, Rows, Sources } from './sources';

export interface PreparedData {
  data: RunData;
  /** Rows that are left out: of the data set, and of the held-out one. */
  left: LeftOut[];
  heldOutLeft: LeftOut[];
  hash: string;
}

/** Reads and tokenises the rows of a run (the first `limit` where given), held-out ones too. @throws AtelierError invalid_data */
export async function prepareData(
  config: RunConfig,
  checked: Checked,
  sources: Sources,
  limit?: number,
): Promise<PreparedData> {
  const { needs, model } = checked;
  const { dataset, mapping, heldOut } = config.data;
  const options = {
    mapping,
    model,
    maxTokens: tokenBudget(needs, model),
    completionOnly: needs.completionOnly ?? true,
  };
  const read = <K extends DataKind>(kind: K, from: string, most?: number) =>
    sources.rows(kind, from, { ...options, ...(most === undefined ? {} : { limit: most }) });
  const main = await read(needs.data, dataset, limit);
  const held = heldOut ? await read(needs.data, heldOut.dataset, heldOut.rows) : null;
  requireRows(main, dataset, 'data.mapping');
  if (heldOut && held) requireRows(held, heldOut.dataset, 'data.heldOut.dataset');
  return {
    // the two are of the kind that was asked for
    data: { kind: needs.data, rows: main.rows, heldOut: held?.rows ?? [] } as RunData,
    left: main.left,
    heldOutLeft: held?.left ?? [],
    hash: hashRows(main.rows),
  };
}

/** Identity of the rows as the model reads them. */
function hashRows(rows: readonly RowOf[DataKind][]): string {
  const hash = createHash('sha256');
  const example = ({ ids, lossMask }: { ids: Int32Array; lossMask: Uint8Array }) =>
    hash.update(ids).update(lossMask);
  for (const row of rows) {
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
  const first = left[0];
  throw new AtelierError(
    'invalid_data',
    `No row of "${dataset}" can be used.${first ? ` Line ${first.line}: ${first.message}` : ' It is empty.'}`,
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

/** Padded tokens a forward and backward holds at once: bounded by a share of the engine's memory. */
export async function chooseMicroTokens(engine: Engine, model: ModelInfo): Promise<number> {
  const { memoryLimitBytes, activeBytes } = await engine.stats();
  // about 34 activations of the hidden size a layer are kept for the backward, in the compute type
  const perToken = model.layers * model.hiddenSize * 34 * (model.dtype === 'f32' ? 4 : 2);
  const room = Math.max(0, memoryLimitBytes - activeBytes) / 3;
  return Math.max(512, Math.min(32_768, Math.floor(room / perToken)));
}
