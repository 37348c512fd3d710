import { randomInt } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { stringify } from 'yaml';
import { AlgorithmInfo } from '../../../shared/contract/algorithms';
import { REWARD_ENDINGS } from '../../../shared/contract/rewards';
import { FrozenReward, RunConfig, upgradeConfig } from '../../../shared/contract/runs';
import { AtelierError, issueText, pathOf } from '../../../shared/rpc';
import { checkRoom, files, isDiskFull, replaceFile, type Files } from './files';

const FORMAT = 2;

/** What a run folder says about itself: `run.json`. Older formats are read, newer ones refused. */
export const RunRecord = z.object({
  format: z.literal(FORMAT),
  id: z.string(),
  name: z.string(),
  createdAt: z.number(),
  modelName: z.string(),
  /** Steps the run has in all. */
  steps: z.number().int(),
  /** Key of the metric that stands for the run in lists. */
  headline: z.string(),
  rewards: z.array(FrozenReward),
  /** What an algorithm of one's own is; its code is part of the configuration. */
  own: AlgorithmInfo.nullable().default(null),
  provenance: z.record(z.string(), z.string()),
  config: RunConfig,
});
export type RunRecord = z.infer<typeof RunRecord>;

const letters = 'abcdefghjkmnpqrstuvwxyz23456789';

/** "Carry the one" as carry-the-one-7k2m. */
export function makeRunId(name: string): string {
  const slug = name
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
  const tail = Array.from({ length: 6 }, () => letters[randomInt(letters.length)]).join('');
  return slug === '' ? `run-${tail}` : `${slug}-${tail}`;
}

export function runsFolder(home: string): string {
  return join(home, 'runs');
}

/** About what a run folder takes before its first checkpoint: configuration, reward, an empty store. */
const START_BYTES = 1024 * 1024;

/**
 * A folder that is there and complete, or not there: `run.json` comes last.
 * @throws AtelierError disk_full, io: nothing is left then
 */
export async function createRunFolder(home: string, record: RunRecord, using: Files = files): Promise<void> {
  const parent = runsFolder(home);
  const folder = join(parent, record.id);
  try {
    await using.mkdir(parent);
    await checkRoom('A run', parent, START_BYTES, using);
    await using.mkdir(folder);
    await using.write(join(folder, 'config.yaml'), stringify(record.config));
    for (const { name, language, code } of record.rewards) {
      await using.write(join(folder, `reward-${name}.${REWARD_ENDINGS[language]}`), code);
    }
    await writeRecord(folder, record, using);
    await using.sync(parent);
  } catch (error) {
    await using.remove(folder).catch(() => undefined);
    if (error instanceof AtelierError) throw error;
    const full = isDiskFull(error);
    throw new AtelierError(
      full ? 'disk_full' : 'io',
      `The run's folder ${folder} cannot be written: ${(error as Error).message}.`,
      full ? 'Free some space, then start again.' : 'See that the data folder can be written.',
    );
  }
}

export async function writeRecord(folder: string, record: RunRecord, using: Files = files): Promise<void> {
  await replaceFile(join(folder, 'run.json'), JSON.stringify(record, null, 2), using);
}

/** Format 1 had one reward, as its code. */
function upgradeRecord(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { rewardCode, ...record } = value as { format?: unknown; rewardCode?: unknown; config?: unknown };
  if (record.format !== 1) return value;
  const reward = { name: 'reward', language: 'typescript', code: rewardCode, weight: 1, params: {} };
  const rewards = rewardCode === null ? [] : [reward];
  return { ...record, format: FORMAT, rewards, config: upgradeConfig(record.config) };
}

/** @throws AtelierError invalid_file, unsupported */
export async function readRecord(folder: string): Promise<RunRecord> {
  const file = join(folder, 'run.json');
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new AtelierError('invalid_file', `${file} cannot be read: ${(error as Error).message}.`);
  }
  const format = (value as { format?: unknown } | null)?.format;
  if (typeof format === 'number' && format > FORMAT) {
    throw new AtelierError(
      'unsupported',
      `${file} was written by a newer Atelier (format ${format}).`,
      'Update Atelier.',
    );
  }
  const parsed = RunRecord.safeParse(upgradeRecord(value));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  throw new AtelierError('invalid_file', `${file}: ${pathOf(issue.path)}: ${issueText(issue)}.`);
}

/** Ids of all run folders, whole or not. Names that no run can have are not ours and are left alone. */
export async function listRunFolders(home: string): Promise<string[]> {
  const entries = await readdir(runsFolder(home), { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isDirectory() && /^[a-z0-9][a-z0-9_-]{0,63}$/.test(entry.name))
    .map((e) => e.name);
}

export async function removeRunFolder(home: string, id: string): Promise<void> {
  await rm(join(runsFolder(home), id), { recursive: true, force: true });
}
