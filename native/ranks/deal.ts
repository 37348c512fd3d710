import type {
  GenerateProgress,
  GenerateRequest,
  GenerateResult,
  GeneratedRow,
  LogitsRequest,
  Rows,
  ScoreResult,
} from '../face';

/** Places of a list's items by rank, each rank's in their order: the dearest goes first, each to the rank with least. */
export function deal(costs: readonly number[], ranks: number): number[][] {
  const order = costs.map((_, k) => k).sort((a, b) => costs[b]! - costs[a]! || a - b);
  const load = Array.from({ length: ranks }, () => 0);
  const shares: number[][] = load.map(() => []);
  for (const k of order) {
    const least = load.indexOf(Math.min(...load));
    load[least]! += costs[k]!;
    shares[least]!.push(k);
  }
  for (const share of shares) share.sort((a, b) => a - b);
  return shares;
}

/** All on the first rank, which says what is wrong with them. */
const undealt = (items: ArrayLike<unknown>, ranks: number): number[][] =>
  Array.from({ length: ranks }, (_, rank) => (rank === 0 ? [...Array(items.length).keys()] : []));

/** A request's prompts by rank: all samples of a prompt stay together, for they share its keys and values. */
export function dealPrompts(request: GenerateRequest, ranks: number): number[][] {
  const { prompts, samplesPerPrompt, maxNewTokens, rolloutIds } = request;
  if (rolloutIds && rolloutIds.length !== prompts.length * samplesPerPrompt) return undealt(prompts, ranks);
  return deal(
    prompts.map((prompt) => prompt.length + samplesPerPrompt * maxNewTokens),
    ranks,
  );
}

/** Places of all rows of some prompts. */
const rowsOfPrompts = (prompts: readonly number[], samples: number): number[] =>
  prompts.flatMap((p) => Array.from({ length: samples }, (_, k) => p * samples + k));

/** The part of a request that is about some of its prompts. Draws go by rollout id, so they stay what they were. */
export function somePrompts(request: GenerateRequest, prompts: readonly number[]): GenerateRequest {
  const { samplesPerPrompt, rolloutIds } = request;
  const rows = rowsOfPrompts(prompts, samplesPerPrompt);
  return {
    ...request,
    prompts: prompts.map((p) => request.prompts[p]!),
    rolloutIds: Uint32Array.from(rows, (row) => rolloutIds?.[row] ?? row),
  };
}

/** What the ranks made, in the order of the request. */
export function joinGenerated(
  parts: readonly { items: readonly number[]; result: GenerateResult }[],
  samples: number,
): GenerateResult {
  const rows: GeneratedRow[] = [];
  for (const { items, result } of parts)
    rowsOfPrompts(items, samples).forEach((row, k) => {
      rows[row] = { ...result.rows[k]!, prompt: Math.floor(row / samples) };
    });
  const most = (of: (result: GenerateResult) => number) =>
    Math.max(0, ...parts.map(({ result }) => of(result)));
  return {
    rows,
    seconds: most(({ seconds }) => seconds),
    tokens: parts.reduce((sum, { result }) => sum + result.tokens, 0),
    // of a device
    heldBytes: most(({ heldBytes }) => heldBytes),
  };
}

/** Listeners, one a rank, that tell one listener of all rows. */
export function joinProgress(
  shares: readonly (readonly number[])[],
  samples: number,
  onProgress: (p: GenerateProgress) => void,
): ((p: GenerateProgress) => void)[] {
  const finished = shares.map(() => 0);
  return shares.map((prompts, rank) => {
    const rows = rowsOfPrompts(prompts, samples);
    return (p) => {
      finished[rank] = p.finished;
      onProgress({
        row: p.row.map((k) => rows[k]!),
        id: p.id,
        finished: finished.reduce((sum, n) => sum + n, 0),
      });
    };
  });
}

/** Where each row's entries begin, and where the last one's end. */
function ends(lengths: Iterable<number>): number[] {
  const at = [0];
  for (const n of lengths) at.push(at.at(-1)! + n);
  return at;
}

export const dealRows = ({ ids, lengths }: Rows, ranks: number): number[][] =>
  ends(lengths).at(-1) === ids.length && lengths.every((n) => n > 0)
    ? deal([...lengths], ranks)
    : undealt(lengths, ranks);

export function someRows({ ids, lengths }: Rows, rows: readonly number[]): Rows {
  const at = ends(lengths);
  const taken = Int32Array.from(rows, (row) => lengths[row]!);
  const part = new Int32Array(taken.reduce((sum, n) => sum + n, 0));
  let to = 0;
  for (const row of rows) {
    part.set(ids.subarray(at[row], at[row + 1]), to);
    to += lengths[row]!;
  }
  return { ids: part, lengths: taken };
}

interface Entries {
  rows: readonly number[];
  /** Its rows' entries, end to end. */
  values: Float32Array;
}

/** Rows' entries in the order of the request; `counts` says how many each row has. */
function joinEntries(parts: readonly Entries[], counts: readonly number[]): Float32Array {
  const at = ends(counts);
  const all = new Float32Array(at.at(-1)!);
  for (const { rows, values } of parts) {
    let from = 0;
    for (const row of rows) {
      all.set(values.subarray(from, from + counts[row]!), at[row]);
      from += counts[row]!;
    }
  }
  return all;
}

export function joinScores(
  parts: readonly { items: readonly number[]; result: ScoreResult }[],
  { lengths }: Rows,
): ScoreResult {
  const targets = [...lengths].map((n) => n - 1);
  const joined: Omit<ScoreResult, 'logp' | 'seconds'> & { logp?: Float32Array } = {};
  for (const name of ['logp', 'entropy', 'value', 'score'] as const) {
    const named = parts.map(({ items, result }) => ({ rows: items, values: result[name] }));
    // not asked for: absent, or empty
    if (named.some(({ values }) => values === undefined)) continue;
    const empty = named.every(({ values }) => values!.length === 0);
    const counts = name === 'score' ? targets.map(() => 1) : targets;
    joined[name] = empty ? new Float32Array() : joinEntries(named as Entries[], counts);
  }
  return {
    ...joined,
    logp: joined.logp ?? new Float32Array(),
    seconds: Math.max(0, ...parts.map(({ result }) => result.seconds)),
  };
}

export function joinLogits(
  parts: readonly { items: readonly number[]; result: Float32Array }[],
  { rows, positions }: Pick<LogitsRequest, 'rows' | 'positions'>,
): Float32Array {
  const places = [...rows.lengths].map((n) => (positions === 'all' ? n : 1));
  const numbers = parts.reduce((sum, { result }) => sum + result.length, 0);
  const each = numbers / places.reduce((sum, n) => sum + n, 0);
  return joinEntries(
    parts.map(({ items, result }) => ({ rows: items, values: result })),
    places.map((n) => n * each),
  );
}
