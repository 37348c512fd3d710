// Several processes are one engine: what they make is what one process makes. On the CPU they meet through MLX's ring,
// on GPUs through NCCL; everything else is the same code.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Spawned } from '../electron/supervise/host-spawn';
import { grpoLoss } from '../shared/algorithms/grpo';
import { sftLoss } from '../shared/algorithms/sft';
import { ProgramBuilder } from '../shared/program';
import { EngineError } from './index';
import type { AdapterId, Engine, GenerateProgress, GenerateRequest, ModelId, StepRequest } from './index';
import { expectSame, outcome, plain, plainVariants, writeStart } from './testing/outcomes';
import {
  adamw,
  cpuEngine,
  cpuRanks,
  maskFrom,
  newLora,
  pack,
  rowsOf,
  sftStep,
  temporaryFolder,
  tinyModel,
} from './testing/tiny';

const fixture = (name: string) => fileURLToPath(new URL(`../conformance/fixtures/${name}`, import.meta.url));
const folder = temporaryFolder();

interface Side {
  engine: Engine;
  model: ModelId;
  /** An adapter that has moved. */
  start: string;
  processes: Spawned[];
}
let one: Side, two: Side, three: Side;
let logp: Float32Array;

async function side(name: string, { engine, processes }: Pick<Side, 'engine' | 'processes'>): Promise<Side> {
  const { id: model } = await engine.loadModel(tinyModel);
  return { engine, model, start: join(folder.path, name), processes };
}
beforeAll(async () => {
  one = await side('one', { engine: cpuEngine(), processes: [] });
  two = await side('two', await cpuRanks(2));
  three = await side('three', await cpuRanks(3));
  logp = await writeStart(one.engine, one.model, one.start);
  for (const { engine, model, start } of [two, three]) await writeStart(engine, model, start);
});
afterAll(async () => {
  for (const { engine } of [one, two, three]) await engine.close();
  folder.remove();
});

const run = (of: Side, plan: Omit<StepRequest, 'optimizer'>) => outcome(of.engine, of.model, of.start, plan);

/** Waits until all ranks have done what they were asked. */
const settled = (engine: Engine) => engine.clearCache();

/** The adapter as each process holds it. */
async function copies({ engine, processes }: Side, adapter: AdapterId): Promise<Buffer[]> {
  const files = processes.map((_, rank) => join(folder.path, `rank-${rank}.safetensors`));
  processes.forEach(({ port }, rank) => {
    // the engine itself asks the first alone to write
    void port.post({
      type: 'call',
      job: 1e9,
      verb: 'saveAdapter',
      args: [adapter, files[rank]],
      progress: false,
    });
  });
  await settled(engine);
  return files.map((file) => readFileSync(file));
}

describe.each(plainVariants.map((v) => [v.name, v] as const))('%s', (_, variant) => {
  it('learns the same on two processes and on three', async () => {
    const plan = plain(variant, logp);
    const want = await run(one, plan);
    expectSame(await run(two, plan), want, 'two');
    expectSame(await run(three, { ...plan, packTokens: 40, microTokens: 40 }), want, 'three, packed');
  });
});

describe('whole-step numbers', () => {
  const rows = rowsOf([5, 9, 3, 7, 6]);
  const spec = { rank: 4, alpha: 8, targetModules: 'all-linear', seed: 1, scalarHead: true } as const;

  it.each(['value', 'score'] as const)('of a scalar head are those of all rows: %s', async (quantity) => {
    const p = new ProgramBuilder();
    const got = p.engine(quantity);
    const level = got.quantile(p.mask('counts', got.shape), p.constant(0.3));
    p.loss('error', got.minus(p.data('wanted', got.shape)).square(), 1);
    p.value('level', level);
    const size = quantity === 'score' ? rows.length : rows.reduce((sum, row) => sum + row.length - 1, 0);
    const results = [];
    for (const { engine, model } of [one, two, three]) {
      const { id: adapter } = await engine.createAdapter(model, spec);
      const optimizer = await engine.createOptimizer({ kind: 'adapter', adapter }, { ...adamw, epsilon: 1 });
      const request: StepRequest = {
        optimizer,
        rows: pack(rows),
        program: JSON.stringify(p.build()),
        inputs: {
          wanted: Float32Array.from({ length: size }, (_x, k) => Math.sin(k)),
          counts: new Float32Array(size).fill(1),
        },
        temperature: 1,
        learningRate: 1,
        maxGradNorm: null,
        microTokens: 12,
      };
      await engine.step(request);
      results.push(await engine.step(request));
    }
    const [want, ...others] = results;
    expect(want!.metrics['level']).not.toBe(0);
    for (const got of others) {
      expect(got.metrics['level']! / want!.metrics['level']!).toBeCloseTo(1, 5);
      expect(got.loss / want!.loss).toBeCloseTo(1, 5);
      expect(got.gradNorm / want!.gradNorm).toBeCloseTo(1, 5);
    }
  });

  it("of a mixture's routers too, and more processes than rows are no harm", async () => {
    const few = rowsOf([9, 4]).map((row) => row.map((id) => id % 380));
    const results = [];
    for (const { engine } of [one, two, three]) {
      const { id: model } = await engine.loadModel(fixture('models/qwen3_moe'));
      const lora = { rank: 4, alpha: 8, targetModules: ['q_proj', 'up_proj'], seed: 1 };
      const { id: adapter } = await engine.createAdapter(model, lora);
      const optimizer = await engine.createOptimizer({ kind: 'adapter', adapter }, adamw);
      results.push(
        await engine.step({
          ...sftStep(optimizer, few),
          program: JSON.stringify(sftLoss({ routerAuxCoef: 0.1 })),
        }),
      );
      await engine.unloadModel(model);
    }
    const [want, ...others] = results;
    expect(want!.metrics['train/router_aux']).toBeGreaterThan(1.9);
    for (const got of others) {
      expect(got.metrics['train/router_aux']).toBeCloseTo(want!.metrics['train/router_aux']!, 5);
      expect(got.loss).toBeCloseTo(want!.loss, 5);
      expect(got.gradNorm / want!.gradNorm).toBeCloseTo(1, 5);
    }
  });
});

describe('a run of steps', () => {
  const rows = rowsOf([12, 5, 9, 30, 3, 17, 8, 21, 14, 6]);
  const loss = maskFrom(rows, 2);
  const grpo = (optimizer: StepRequest['optimizer'], step: number): StepRequest => ({
    optimizer,
    rows: pack(rows),
    groups: Int32Array.from(rows, (_, row) => Math.floor(row / 2)),
    skip: Uint8Array.from(rows, (_, row) => (Math.floor(row / 2) === 2 ? 1 : 0)),
    program: JSON.stringify(
      grpoLoss({
        clipLow: 0.2,
        clipHigh: 0.28,
        normalisation: 'dapo',
        maxNewTokens: 32,
        beta: 0,
        entropyBonus: 0.01,
      }),
    ),
    inputs: {
      loss,
      meanStepTokens: Float32Array.of(loss.reduce((a, b) => a + b)),
      advantage: Float32Array.from(rows, (_, row) => (Math.floor(row / 2) === 2 ? 0 : row % 2 ? 1 : -1)),
      samplerLogp: Float32Array.from(loss, (_, t) => -6 + Math.sin(t + step)),
    },
    temperature: 1,
    learningRate: 1e-3,
    maxGradNorm: 0.5,
    microTokens: 40,
    packTokens: 40,
    embeddingNoise: { alpha: 5, seed: step },
  });

  it('with groups, skipped ones, packing, clipping and noise ends as on one process, bit for bit alike on all', async () => {
    const ends = [];
    for (const of of [one, two, three]) {
      const { adapter, optimizer } = await newLora(of.engine, of.model);
      const steps = [];
      for (let step = 1; step <= 4; step++) steps.push(await of.engine.step(grpo(optimizer, step)));
      const { logp: now } = await of.engine.score({ model: of.model, adapter, rows: pack(rows) });
      ends.push({ steps, now });
      const [first, ...others] = await copies(of, adapter);
      for (const other of others) expect(other.equals(first!)).toBe(true);
    }
    const [want, ...others] = ends;
    for (const got of others) {
      got.steps.forEach((step, k) => {
        const { seconds: _s, peakBytes: _p, metrics, ...rest } = want!.steps[k]!;
        expect(step.tokens).toBe(rest.tokens);
        expect(step.updated).toBe(true);
        expect(step.loss).toBeCloseTo(rest.loss, 5);
        expect(step.gradNorm / rest.gradNorm).toBeCloseTo(1, 4);
        for (const [key, value] of Object.entries(metrics)) expect(step.metrics[key]).toBeCloseTo(value, 4);
      });
      got.now.forEach((x, t) => expect(x).toBeCloseTo(want!.now[t]!, 3));
    }
  });

  it('of all parameters, saved and gone on with, ends as on one process', async () => {
    const ends = [];
    for (const { engine } of [one, two, three]) {
      const { id: model } = await engine.loadModel(tinyModel);
      const spec = { ...adamw, kind: 'muon', momentum: 0.95 } as const;
      const optimizer = await engine.createOptimizer({ kind: 'full', model }, spec);
      const steps = [];
      for (let step = 0; step < 3; step++)
        steps.push(await engine.step(sftStep(optimizer, rows, { learningRate: 1e-3, microTokens: 40 })));
      const saved = join(folder.path, `full-${ends.length}`);
      mkdirSync(saved);
      await engine.saveModel(model, saved);
      await engine.saveOptimizer(optimizer, join(saved, 'optimizer.safetensors'));
      // what one wrote, all read
      const { id: again } = await engine.loadModel(saved);
      const goesOn = await engine.createOptimizer({ kind: 'full', model: again }, spec);
      await engine.loadOptimizer(goesOn, join(saved, 'optimizer.safetensors'));
      const next = [optimizer, goesOn].map((o) => engine.step(sftStep(o, rows)));
      const [whole, resumed] = await Promise.all(next);
      const timeless = { seconds: 0, peakBytes: 0, gradientPeakBytes: 0 };
      expect({ ...resumed, ...timeless }).toEqual({ ...whole, ...timeless });
      ends.push([...steps, whole!]);
      await engine.unloadModel(model);
      await engine.unloadModel(again);
    }
    const [want, ...others] = ends;
    for (const got of others)
      got.forEach((step, k) => {
        expect(step.loss / want![k]!.loss).toBeCloseTo(1, 4);
        expect(step.gradNorm / want![k]!.gradNorm).toBeCloseTo(1, 3);
      });
  });

  it('refuses what is not finite on all alike, and goes on', async () => {
    const { adapter, optimizer } = await newLora(two.engine, two.model);
    const before = await copies(two, adapter);
    const bad = grpo(optimizer, 1);
    // one row of ten, so one process alone meets it
    bad.inputs['samplerLogp']!.fill(-Infinity, 0, 11);
    expect(await two.engine.step(bad)).toMatchObject({ updated: false });
    expect(await copies(two, adapter)).toEqual(before);
    expect(await two.engine.step(grpo(optimizer, 2))).toMatchObject({ updated: true });
  });

  it('is cancelled as a whole, whenever it is, and goes on', async () => {
    const { adapter, optimizer } = await newLora(three.engine, three.model);
    const ended = { cancelled: 0, done: 0 };
    for (let turns = 0; turns < 12; turns++) {
      const before = await copies(three, adapter);
      const abort = new AbortController();
      // something else first, so that the step waits on some and runs on others
      const busy = three.engine.score({ model: three.model, adapter, rows: pack(rowsOf([200, 3])) });
      const step = three.engine.step({ ...grpo(optimizer, turns), microTokens: 8 }, { signal: abort.signal });
      if (turns >= 6) await busy;
      for (let turn = 0; turn < turns % 6; turn++) await new Promise(setImmediate);
      abort.abort();
      const [outcomeOf] = await Promise.allSettled([step, busy]);
      if (outcomeOf!.status === 'fulfilled') {
        ended.done++;
        continue;
      }
      expect(outcomeOf!.reason).toMatchObject({ code: 'cancelled' });
      ended.cancelled++;
      expect(await copies(three, adapter)).toEqual(before);
    }
    expect(ended.cancelled).toBeGreaterThan(0);
    const after = await three.engine.step(grpo(optimizer, 99));
    expect(after.updated).toBe(true);
    const [first, ...others] = await copies(three, adapter);
    for (const other of others) expect(other.equals(first!)).toBe(true);
  });

  it('says the same of a request that makes no sense, and goes on', async () => {
    const ofOne = grpo((await newLora(one.engine, one.model)).optimizer, 1);
    const ofTwo = grpo((await newLora(two.engine, two.model)).optimizer, 1);
    for (const bad of [
      { rows: { ...ofOne.rows, ids: ofOne.rows.ids.map(() => -1) } },
      { optimizer: 999 as StepRequest['optimizer'] },
      { program: '{}' },
      { microTokens: 0 },
    ]) {
      const want = await one.engine.step({ ...ofOne, ...bad }).catch((error: unknown) => error);
      const got = await two.engine.step({ ...ofTwo, ...bad }).catch((error: unknown) => error);
      expect(got).toBeInstanceOf(EngineError);
      expect(got).toEqual(want);
    }
    expect(await two.engine.step(ofTwo)).toMatchObject({ updated: true });
  });
});

describe('answers', () => {
  const prompts = [[1, 2, 3], [7, 7, 9, 11, 4, 2], [5], [100, 200], [3, 1, 4, 1, 5]].map((p) =>
    Int32Array.from(p),
  );
  const request = (model: ModelId, more: Partial<GenerateRequest> = {}): GenerateRequest => ({
    model,
    adapter: null,
    prompts,
    samplesPerPrompt: 3,
    maxNewTokens: 12,
    temperature: 1,
    stopIds: Int32Array.of(17, 40),
    seed: 5,
    ...more,
  });

  it.each([
    ['drawn', {}],
    ['greedy', { temperature: 0 }],
    ['with rollout ids', { rolloutIds: Uint32Array.from({ length: 15 }, (_, k) => 1000 - 7 * k) }],
    ['of one prompt', { prompts: prompts.slice(1, 2), samplesPerPrompt: 4 }],
    ['of an adapter, filtered', { topK: 20, topP: 0.9, maxRows: 2 }],
  ] as [string, Partial<GenerateRequest>][])('are those of one process: %s', async (what, more) => {
    const made = [];
    for (const { engine, model, start } of [one, two, three]) {
      const adapter = what.includes('adapter') ? (await engine.loadAdapter(model, start)).id : null;
      const {
        seconds: _s,
        heldBytes: _h,
        ...rest
      } = await engine.generate(request(model, { ...more, adapter }));
      made.push(rest);
    }
    const [want, ...others] = made;
    for (const got of others) {
      expect(got.tokens).toBe(want!.tokens);
      expect(got.rows.map(({ prompt, ids, finish }) => ({ prompt, ids, finish }))).toEqual(
        want!.rows.map(({ prompt, ids, finish }) => ({ prompt, ids, finish })),
      );
      got.rows.forEach((row, k) =>
        row.logprob.forEach((x, t) => expect(x).toBeCloseTo(want!.rows[k]!.logprob[t]!, 5)),
      );
    }
  });

  it('come token by token as they end up', async () => {
    const heard: GenerateProgress[] = [];
    const { rows } = await three.engine.generate(request(three.model), { onProgress: (p) => heard.push(p) });
    const told: number[][] = rows.map(() => []);
    for (const { row, id } of heard) row.forEach((r, k) => told[r]!.push(id[k]!));
    expect(told).toEqual(rows.map(({ ids }) => [...ids]));
    expect(heard.at(-1)!.finished).toBe(rows.length);
  });

  it('end where they are cancelled, and what was there is given', async () => {
    const abort = new AbortController();
    const { rows } = await two.engine.generate(
      request(two.model, { maxNewTokens: 240, stopIds: new Int32Array() }),
      {
        onProgress: () => abort.abort(),
        signal: abort.signal,
      },
    );
    expect(rows).toHaveLength(15);
    expect(rows.some(({ finish }) => finish === 'cancelled')).toBe(true);
  });

  it.each([
    { prompts: [] },
    { prompts: [Int32Array.of(1), new Int32Array(), Int32Array.of(3)] },
    { rolloutIds: Uint32Array.of(1) },
    { samplesPerPrompt: 0 },
    { maxNewTokens: 1e6 },
    { seed: -1 },
    { model: 77 as ModelId },
  ] as Partial<GenerateRequest>[])('refuse what makes no sense as one process does: %o', async (bad) => {
    const [want, got] = await Promise.allSettled([
      one.engine.generate(request(one.model, bad)),
      three.engine.generate(request(three.model, bad)),
    ]);
    const plainly = (x: typeof want) =>
      x!.status === 'rejected'
        ? { message: (x!.reason as Error).message, code: (x!.reason as { code: string }).code }
        : x!.value.rows;
    expect(plainly(got)).toEqual(plainly(want));
  });
});

describe('scores', () => {
  const rows = rowsOf([12, 5, 9, 30, 3, 17, 8, 21]);

  it('and logits are those of one process', async () => {
    const made = [];
    for (const { engine, model } of [one, two, three]) {
      const spec = { rank: 4, alpha: 8, targetModules: 'all-linear', seed: 1, scalarHead: true } as const;
      const { id: adapter } = await engine.createAdapter(model, spec);
      const optimizer = await engine.createOptimizer({ kind: 'adapter', adapter }, adamw);
      const p = new ProgramBuilder();
      p.loss('all', p.engine('value').square(), 1);
      p.loss('more', p.engine('value'), 1);
      await engine.step({ ...sftStep(optimizer, rows), program: JSON.stringify(p.build()), inputs: {} });
      const of = { model, adapter, rows: pack(rows) };
      made.push({
        all: await engine.score({ ...of, entropy: true, value: true, score: true }),
        score: await engine.score({ ...of, logp: false, score: true }),
        logits: await engine.logits({ ...of, positions: 'all' }),
        last: await engine.logits({ ...of, positions: 'last' }),
      });
    }
    const [want, ...others] = made;
    const near = (a: Float32Array, b: Float32Array) => {
      expect(a.length).toBe(b.length);
      a.forEach((x, k) => expect(Math.abs(x - b[k]!)).toBeLessThan(2e-5));
    };
    expect(want!.all.score!.some((x) => x !== 0)).toBe(true);
    for (const got of others) {
      expect(Object.keys(got.all).sort()).toEqual(Object.keys(want!.all).sort());
      for (const key of ['logp', 'entropy', 'value', 'score'] as const) near(got.all[key]!, want!.all[key]!);
      expect(got.score.logp).toHaveLength(0);
      near(got.score.score!, want!.score.score!);
      near(got.logits, want!.logits);
      near(got.last, want!.last);
    }
  });

  it.each([
    { ids: Int32Array.of(1, 2, 3), lengths: Int32Array.of(2, 2) },
    { ids: new Int32Array(), lengths: new Int32Array() },
    { ids: Int32Array.of(1, 2, 3, 4, 99_999), lengths: Int32Array.of(2, 1, 2) },
  ])('refuse rows that make no sense as one process does', async (bad) => {
    const of = { adapter: null, rows: bad };
    const [want, got] = await Promise.allSettled([
      one.engine.score({ ...of, model: one.model }),
      three.engine.score({ ...of, model: three.model }),
    ]);
    expect((got as PromiseRejectedResult).reason).toEqual((want as PromiseRejectedResult).reason);
  });
});
