import type { FollowItem, RunStatus } from '../../../shared/contract/runs';
import type { RunEntry } from './run-entry';

const PAGE = 500;
/** No more rows come. A run that was interrupted or waits may still go on. */
const over: ReadonlySet<RunStatus> = new Set(['completed', 'stopped', 'failed']);

/**
 * Stored rows with seq > after, then new ones as they are committed, with the newest progress between them. One
 * path for first load, reload, reconnect and finished runs: the store is read, nothing is pushed, so nothing
 * can be lost.
 */
export async function* followRun(
  entry: RunEntry,
  after: number,
  signal: AbortSignal,
): AsyncIterable<FollowItem> {
  let seq = after;
  let live = false;
  let shown: unknown = null;
  while (!signal.aborted) {
    const seen = entry.version;
    const rows = entry.reader.rowsAfter(seq, PAGE);
    for (const row of rows) {
      yield row;
      seq = row.seq;
    }
    if (rows.length === PAGE) continue;
    if (!live) {
      live = true;
      yield { kind: 'live' };
    }
    const progress = entry.live?.progress ?? null;
    if (progress && progress !== shown) {
      shown = progress;
      yield progress;
    }
    if (entry.version !== seen) continue;
    if (!entry.live && over.has(entry.status)) return;
    await entry.until(seen, signal);
  }
}
