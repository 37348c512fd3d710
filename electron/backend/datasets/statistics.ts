import type { DataKind } from '../../../shared/algorithms';
import type { Statistics } from '../../../shared/contract/datasets';
import { Dropped } from './dropped';
import { makeRows, tooLong, type PrepareOptions } from './prepare';
import { sequencesOf } from './rows';
import type { DataRow } from './scan';

/** Rows that are looked at; more would tell the same and take minutes. */
export const STATISTICS_ROWS = 20_000;
const buckets = 40;

/** What an algorithm would make of rows. Lengths are of all rows that can be read, so that a limit shows its effect. */
export async function statisticsOf(
  kind: DataKind,
  rows: AsyncIterable<DataRow>,
  { maxTokens = Infinity, ...options }: PrepareOptions,
  onProgress: (looked: number) => void,
): Promise<Omit<Statistics, 'total'>> {
  const dropped = new Dropped();
  const lengths: number[] = [];
  let looked = 0;
  for await (const made of makeRows(kind, rows, options)) {
    if (++looked % 200 === 0) onProgress(looked);
    if (made.left) {
      dropped.add(made.left.reason, made.line, made.left.message);
      continue;
    }
    const tokens = Math.max(...sequencesOf(made.row).map(({ length }) => length));
    lengths.push(tokens);
    if (tokens > maxTokens) dropped.add('too-long', made.line, tooLong(tokens, maxTokens));
  }
  const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
  const width = Math.max(1, Math.ceil((longest + 1) / buckets));
  const counts = Array.from({ length: Math.ceil((longest + 1) / width) }, () => 0);
  for (const length of lengths) counts[Math.floor(length / width)]!++;
  const sum = lengths.reduce((total, length) => total + length, 0);
  return {
    looked,
    used: looked - dropped.total,
    left: dropped.list(),
    lengths: { mean: lengths.length === 0 ? 0 : sum / lengths.length, longest, width, counts },
  };
}
