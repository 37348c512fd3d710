// How a run is divided to fit into memory, with the real engine under a limit that it would pass.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { withFit, type RunConfigInput, type TuneItem } from '../../shared/contract/runs';
import { openLocal, type Local } from './local';
import { follow, startCommand, temporaryHome } from './testing';

let home: string;
let config: RunConfigInput;
/** Bytes without which the run cannot go on: as it is, a row at a time, and with layers recomputed too. */
let needs: Record<'whole' | 'row' | 'recomputed', number>;

/** A backend whose engine may use so many bytes. */
async function within<T>(bytes: number | null, work: (local: Local) => Promise<T>): Promise<T> {
  writeFileSync(join(home, 'settings.json'), JSON.stringify({ memoryLimitBytes: bytes && Math.ceil(bytes) }));
  const local = await openLocal({ home, device: 'cpu' });
  try {
    return await work(local);
  } finally {
    await local.close();
  }
}
/** A limit of which nine tenths lie between the two. */
const between = (less: number, more: number) => (less + more) / 2 / 0.9;

beforeAll(async () => {
  home = temporaryHome();
  const rows = Array.from({ length: 16 }, (_, k) => ({
    prompt: `What is ${100 + k} + 1?`,
    completion: Array.from({ length: 60 }, (__, w) => String(100 + ((k * 37 + w * 61) % 900))).join(' '),
  }));
  const path = join(home, 'long.jsonl');
  writeFileSync(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  needs = await within(null, async ({ client }) => {
    const { id } = await client.datasets.add({ path });
    config = {
      name: 'fit',
      algorithm: 'sft',
      model: 'abacus',
      data: { dataset: id },
      params: { epochs: 1, batchSize: 8, maxTokens: 512 },
      seed: 1,
    };
    const total = async (microTokens: number, recompute: boolean) =>
      (
        await client.runs.estimate(
          withFit({ params: {}, ...config }, { microTokens, recompute, packing: null }),
        )
      ).memory.total;
    return {
      whole: await total(1024, false),
      row: await total(16, false),
      recomputed: await total(16, true),
    };
  });
}, 120_000);
afterAll(() => rmSync(home, { recursive: true }));

/** Of a run that is divided so. */
async function peakOf(local: Local, chosen: RunConfigInput): Promise<number> {
  const { id } = await local.client.runs.start(chosen);
  const items = await follow(local, id);
  const peaks = items.flatMap((item) => (item.kind === 'step' ? [item.metrics['perf/peak_bytes']!] : []));
  expect(peaks.length, JSON.stringify(items.at(-1))).toBe(2);
  return Math.max(...peaks);
}

it('what there is room for stays as it is', async () => {
  const { fit, reasons } = await within(null, ({ client }) => client.runs.fit(config));
  expect(fit).toEqual({ microTokens: 1024, recompute: false, packing: false });
  expect(reasons.join(' ')).toMatch(/1,024 tokens.* not recomputed/);
});

it('micro-batches are made smaller first, and the run then keeps to the limit', async () => {
  const limit = between(needs.row, needs.whole);
  await within(limit, async (local) => {
    const { fit, leastBytes, reasons } = await local.client.runs.fit(config);
    expect(fit.microTokens).toBeLessThan(1024);
    expect(fit.recompute).toBe(false);
    expect(leastBytes).toBeLessThanOrEqual(0.9 * limit);
    expect(reasons[0]).toMatch(/they would need about \d+ MB; the engine may use \d+ MB/);
    expect(await peakOf(local, withFit({ params: {}, ...config }, fit))).toBeLessThanOrEqual(limit);
  });
}, 60_000);

it('layers are recomputed where a row alone does not fit, and it is said why', async () => {
  const limit = between(needs.recomputed, needs.row);
  await within(limit, async (local) => {
    const { fit, reasons } = await local.client.runs.fit(config);
    expect(fit.recompute).toBe(true);
    expect(reasons[1]).toMatch(/recomputed.*without that/);
    expect(await peakOf(local, withFit({ params: {}, ...config }, fit))).toBeLessThanOrEqual(limit);
  });
}, 60_000);

it('what fits in no way is refused with what it needs and what there is', async () => {
  const limit = (needs.recomputed * 0.8) / 0.9;
  await within(limit, async ({ client }) => {
    await expect(client.runs.fit(config)).rejects.toMatchObject({
      code: 'out_of_memory',
      message: expect.stringMatching(
        /in any way: (one row at a time with layers recomputed needs about \d+ MB|.*needs \d+ MiB beside)/,
      ),
      hint: expect.stringMatching(/take less: .*8-bit.*shorter rows/),
    });
  });
}, 60_000);

it('tuning tries the neighbours that fit, and ends with one that keeps to the limit', async () => {
  const limit = between(needs.row, needs.whole);
  await within(limit, async ({ client }) => {
    const items: TuneItem[] = [];
    for await (const item of client.runs.tune(config)) items.push(item);
    const tried = items.flatMap((item) => (item.kind === 'tried' ? [item.tried] : []));
    const chosen = items.flatMap((item) => (item.kind === 'chosen' ? [item.chosen.fit] : []))[0]!;
    expect(tried[0]!.fit).toEqual(chosen);
    expect(tried.some(({ measured }) => measured === null)).toBe(true);
    for (const { estimatedBytes, measured } of tried)
      if (measured) expect(Math.abs(estimatedBytes / measured.peakBytes - 1)).toBeLessThan(0.1);
    const best = items.flatMap((item) => (item.kind === 'best' ? [item.best] : []))[0]!;
    expect(tried).toContainEqual(best);
    expect(best.measured!.peakBytes).toBeLessThanOrEqual(limit);
  });
}, 60_000);

it('the command writes the best into the file, beside what stood there', async () => {
  writeFileSync(join(home, 'settings.json'), '{}');
  const file = join(home, 'run.yaml');
  writeFileSync(
    file,
    `# mine\n${JSON.stringify(config, null, 2)}\n`.replace('"epochs"', '\n# once\n"epochs"'),
  );
  const { code, out, error } = await startCommand(home, ['tune', file, '--write']).ended;
  expect(error).toBe('');
  expect(code).toBe(0);
  expect(out).toMatch(/microTokens +recompute +packing +tokens\/s +peak/);
  const [, micro] = /Written to .*: microTokens (\d+), recompute off/.exec(out)!;
  const text = readFileSync(file, 'utf8');
  expect(text).toContain('# mine');
  expect(text).toContain('# once');
  expect(text).toMatch(new RegExp(`"?microTokens"?: ${micro}`));
  const run = await startCommand(home, ['run', file, '--auto']).ended;
  expect(run.out).toMatch(/Micro-batches of 1,024 tokens[^]*completed/);
}, 120_000);
