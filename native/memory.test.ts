/** What does not fit in memory is refused before anything is allocated for it, or waits. */
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { engineModule, type Engine } from './index';
import { sftLoss } from '../shared/algorithms/sft';
import { maskFrom, newLora, pack, rowsOf, tinyModel } from './testing/tiny';

/** One at a time: memory is counted for the whole process. */
async function within<T>(memoryLimitBytes: number | undefined, work: (engine: Engine) => Promise<T>) {
  const engine = engineModule('cpu').createEngine({ device: 'cpu', memoryLimitBytes, cacheLimitBytes: 0 });
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}

/** 2 MB: a limit is at least 1 MiB. */
const abacus = fileURLToPath(new URL('../resources/models/abacus', import.meta.url));
const prompts = rowsOf([40, 56]).map((ids) => Int32Array.from(ids, (id) => id % 64));

async function generate(engine: Engine) {
  const { id: model } = await engine.loadModel(abacus);
  const { activeBytes } = await engine.stats();
  await engine.resetPeak();
  const { rows } = await engine.generate({
    model,
    adapter: null,
    prompts,
    samplesPerPrompt: 32,
    maxNewTokens: 8,
    temperature: 1,
    stopIds: new Int32Array(),
    seed: 5,
  });
  const { peakBytes } = await engine.stats();
  return { ids: rows.map((row) => [...row.ids]), activeBytes, extra: peakBytes - activeBytes };
}

it('a model is refused before its weights are read', async () => {
  await within(2 ** 20, async (engine) => {
    await engine.resetPeak();
    const { activeBytes } = await engine.stats();
    await expect(engine.loadModel(abacus)).rejects.toMatchObject({
      code: 'out_of_memory',
      message: expect.stringMatching(/^The model needs 2 MiB beside the \d+ MiB in use; the limit is 1 MiB$/),
      hint: expect.stringContaining('smaller'),
    });
    expect((await engine.stats()).peakBytes).toBe(activeBytes);
  });
});

it('rows that do not fit at once wait, and say the same', async () => {
  const all = await within(undefined, generate);
  const few = await within(all.activeBytes + Math.floor(all.extra / 4), generate);
  expect(few.ids).toEqual(all.ids);
  expect(few.extra).toBeLessThan(all.extra / 2);
  await expect(within(all.activeBytes + 20_000, generate)).rejects.toMatchObject({
    code: 'out_of_memory',
    message: expect.stringMatching(/^A row of 64 tokens needs \d+ MiB beside/),
    hint: expect.stringContaining('fewer new tokens'),
  });
});

it('a training step is refused where one row cannot fit, never where it does', async () => {
  const step = async (engine: Engine, length: number, skipped?: number, times = 1, microTokens = 8192) => {
    const { id: model } = await engine.loadModel(tinyModel);
    const lora = await newLora(engine, model);
    const rows = rowsOf(skipped === undefined ? Array<number>(times).fill(length) : [length, skipped]);
    return engine.step({
      optimizer: lora.optimizer,
      rows: pack(rows),
      ...(skipped === undefined ? {} : { skip: Uint8Array.of(0, 1) }),
      program: JSON.stringify(sftLoss()),
      inputs: { loss: maskFrom(rows, 1) },
      temperature: 1,
      learningRate: 1e-3,
      maxGradNorm: null,
      microTokens,
    });
  };
  const { peakBytes } = await within(undefined, (engine) => step(engine, 200));
  expect(await within(peakBytes, (engine) => step(engine, 200))).toMatchObject({ updated: true });
  // rows that fit one by one, but not at once
  const eight = (microTokens: number) => (engine: Engine) => step(engine, 200, undefined, 8, microTokens);
  const room = Math.floor(1.5 * peakBytes);
  expect(await within(room, eight(200))).toMatchObject({ updated: true });
  await expect(within(room, eight(8192))).rejects.toMatchObject({
    code: 'out_of_memory',
    message: expect.stringMatching(/^Training on 8 rows of 200 tokens at once needs \d+ MiB beside/),
    hint: expect.stringMatching(/smaller micro-batches.*of 200 tokens at least, recompute layers/),
  });
  // a long answer that is not learnt from takes nothing
  const third = Math.floor(peakBytes / 3);
  expect(await within(third, (engine) => step(engine, 8, 200))).toMatchObject({ updated: true });
  await expect(within(third, (engine) => step(engine, 200))).rejects.toMatchObject({
    code: 'out_of_memory',
    message: expect.stringMatching(/^Training on a row of 200 tokens needs \d+ MiB beside/),
    hint: expect.stringContaining('shorter rows'),
  });
});
