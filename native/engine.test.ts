import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engineModule } from './index';
import type { Engine, GenerateRequest, ModelId } from './index';
import {
  cpuEngine,
  maskFrom,
  newLora,
  pack,
  rowsOf,
  sftStep,
  temporaryFolder,
  tinyModel,
} from './testing/tiny';

let engine: Engine;
let model: ModelId;
const folder = temporaryFolder();

beforeAll(async () => {
  engine = cpuEngine();
  model = (await engine.loadModel(tinyModel)).id;
});
afterAll(async () => {
  await engine.close();
  folder.remove();
});

const generation = (more: Partial<GenerateRequest> = {}): GenerateRequest => ({
  model,
  adapter: null,
  prompts: [Int32Array.of(1, 2, 3), Int32Array.of(4)],
  samplesPerPrompt: 3,
  maxNewTokens: 8,
  temperature: 1,
  stopIds: new Int32Array(),
  seed: 1,
  ...more,
});

/** Long enough that it is still running when it is aborted. */
const longGeneration = () => generation({ samplesPerPrompt: 16, maxNewTokens: 200 });

describe('devices', () => {
  it('are listed with reasons', () => {
    const devices = engineModule('cpu').devices();
    expect(devices.map((d) => d.device)).toEqual(['cpu', 'cuda', 'metal']);
    expect(devices[0]).toMatchObject({ available: true });
    expect(devices[0]!.memoryBytes).toBeGreaterThan(1e8);
    for (const { available, description } of devices) expect(available || description.length > 10).toBe(true);
  });

  it('that are not there are refused with what is', () => {
    const wrong = devicesNotHere()[0]!;
    expect(() => engineModule('cpu').createEngine({ device: wrong })).toThrow(
      expect.objectContaining({
        name: 'EngineError',
        code: 'device_unavailable',
        message: expect.stringContaining('cpu: CPU'),
      }),
    );
  });
});

const devicesNotHere = () =>
  engineModule('cpu')
    .devices()
    .filter((d) => !d.available)
    .map((d) => d.device);

describe('generation', () => {
  it('streams exactly the tokens that it returns', async () => {
    const seen: number[][] = [[], [], [], [], [], []];
    let finished = 0;
    const result = await engine.generate(generation(), {
      onProgress: (p) => {
        p.row.forEach((row, i) => seen[row]!.push(p.id[i]!));
        finished = p.finished;
      },
    });
    expect(seen).toEqual(result.rows.map((row) => [...row.ids]));
    expect(finished).toBe(6);
    expect(result.rows.map((row) => row.prompt)).toEqual([0, 0, 0, 1, 1, 1]);
    expect(result.tokens).toBe(48);
    expect(result.rows.every((row) => row.finish === 'length' && row.logprob.length === 8)).toBe(true);
  });

  it('depends on seed and rollout id alone', async () => {
    const all = await engine.generate(generation());
    const one = await engine.generate(
      generation({ prompts: [Int32Array.of(4)], samplesPerPrompt: 1, rolloutIds: Uint32Array.of(5) }),
    );
    expect(one.rows[0]!.ids).toEqual(all.rows[5]!.ids);
    const other = await engine.generate(generation({ seed: 2 }));
    expect(other.rows.map((r) => [...r.ids])).not.toEqual(all.rows.map((r) => [...r.ids]));
  });
});

describe('cancelling', () => {
  it('ends a running generation with what it has', async () => {
    const abort = new AbortController();
    const result = await engine.generate(longGeneration(), {
      signal: abort.signal,
      onProgress: () => abort.abort(),
    });
    expect(result.rows.some((row) => row.finish === 'cancelled')).toBe(true);
    expect(result.tokens).toBeLessThan(32 * 200);
    expect(result.tokens).toBeGreaterThan(0);
  });

  it('drops what waits at once, stops what runs, and the engine goes on', async () => {
    const running = new AbortController();
    const waiting = new AbortController();
    let begun = () => {};
    const isRunning = new Promise<void>((resolve) => (begun = resolve));
    const first = engine.generate(longGeneration(), { signal: running.signal, onProgress: () => begun() });
    const second = engine.score(
      { model, adapter: null, rows: pack(rowsOf([9])) },
      { signal: waiting.signal },
    );
    await isRunning;
    expect((await engine.stats()).jobs).toBe(2);
    waiting.abort();
    await expect(second).rejects.toMatchObject({ name: 'EngineError', code: 'cancelled' });
    running.abort();
    await first;
    await expect(
      engine.score({ model, adapter: null, rows: pack(rowsOf([9])) }, { signal: waiting.signal }),
    ).rejects.toMatchObject({ code: 'cancelled' });
    expect((await engine.score({ model, adapter: null, rows: pack(rowsOf([9])) })).logp).toHaveLength(8);
  });

  it('leaves a step undone', async () => {
    const { adapter, optimizer } = await newLora(engine, model);
    const abort = new AbortController();
    const rows = rowsOf(Array.from({ length: 64 }, () => 60));
    const step = engine.step(sftStep(optimizer, rows, { microTokens: 60 }), { signal: abort.signal });
    setImmediate(() => abort.abort());
    await expect(step).rejects.toMatchObject({ code: 'cancelled' });
    expect((await engine.adapterNorms(adapter)).every((m) => m.maxB === 0)).toBe(true);
  });
});

describe('wrong requests say which field', () => {
  const rows = pack(rowsOf([5, 6]));
  const cases: [string, () => Promise<unknown>, string, RegExp][] = [
    [
      'ids outside the vocabulary',
      () =>
        engine.score({
          model,
          adapter: null,
          rows: { ids: Int32Array.of(1, 512), lengths: Int32Array.of(2) },
        }),
      'invalid_argument',
      /rows\.ids\[1\] is 512/,
    ],
    [
      'lengths that do not add up',
      () =>
        engine.score({ model, adapter: null, rows: { ids: Int32Array.of(1), lengths: Int32Array.of(2) } }),
      'invalid_argument',
      /rows\.ids has 1 entries/,
    ],
    [
      'another kind of array',
      () =>
        engine.score({
          model,
          adapter: null,
          rows: { ids: [1, 2] as unknown as Int32Array, lengths: Int32Array.of(2) },
        }),
      'invalid_argument',
      /score\.rows\.ids must be a Int32Array/,
    ],
    [
      'an empty prompt',
      () => engine.generate(generation({ prompts: [new Int32Array()] })),
      'invalid_argument',
      /prompts\[0\]/,
    ],
    [
      'more tokens than the context',
      () => engine.generate(generation({ maxNewTokens: 1_000_000 })),
      'invalid_argument',
      /maxNewTokens/,
    ],
    [
      'a temperature below 0',
      () => engine.generate(generation({ temperature: -1 })),
      'invalid_argument',
      /generate\.temperature is -1/,
    ],
    [
      'no temperature for training',
      () => engine.score({ model, adapter: null, rows, temperature: 0 }),
      'invalid_argument',
      /score\.temperature is 0/,
    ],
    [
      'too few rollout ids',
      () => engine.generate(generation({ rolloutIds: Uint32Array.of(1) })),
      'invalid_argument',
      /rolloutIds has 1 entries for 6 rows/,
    ],
    [
      'a seed that is not exact',
      () => engine.generate(generation({ seed: 2 ** 53 })),
      'invalid_argument',
      /seed/,
    ],
    [
      'a model that is gone',
      () => engine.score({ model: 999 as ModelId, adapter: null, rows }),
      'not_found',
      /no model 999/,
    ],
    [
      'half precision on the CPU',
      () => engine.loadModel(tinyModel, { dtype: 'bf16' }),
      'invalid_argument',
      /dtype is 'bf16'/,
    ],
    ['a folder that is not there', () => engine.loadModel(join(tinyModel, 'nothing')), 'io', /nothing/],
    [
      'a module that does not exist',
      () => engine.createAdapter(model, { rank: 4, alpha: 8, targetModules: ['x_proj'], seed: 1 }),
      'invalid_argument',
      /target_modules/,
    ],
  ];
  it.each(cases)('%s', async (_, call, code, message) => {
    await expect(call()).rejects.toMatchObject({
      name: 'EngineError',
      code,
      message: expect.stringMatching(message),
    });
  });

  it('in a step', async () => {
    const { optimizer } = await newLora(engine, model);
    const good = sftStep(optimizer, rowsOf([5, 6]));
    const bad = (more: object, message: RegExp) =>
      expect(engine.step({ ...good, ...more })).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringMatching(message),
      });
    await bad({ inputs: {} }, /loss/);
    await bad({ inputs: { loss: Float32Array.of(1) } }, /loss/);
    await bad({ inputs: { ...good.inputs, extra: Float32Array.of(1) } }, /extra/);
    await bad({ program: '{"version": 1' }, /program|JSON/i);
    await bad({ trajectories: Int32Array.of(0) }, /trajectories has 1 entries for 2 rows/);
    await bad({ groups: Int32Array.of(0, 0, 0) }, /groups has 3 entries/);
    await bad({ skip: Uint8Array.of(1) }, /skip has 1 entries/);
    await bad({ learningRate: NaN }, /learningRate/);
    await bad({ microTokens: 0 }, /microTokens/);
    expect((await engine.step(good)).updated).toBe(true);
  });
});

it('a model beyond the memory limit is refused and leaves nothing behind', async () => {
  const small = engineModule('cpu').createEngine({ device: 'cpu', memoryLimitBytes: 1 << 20 });
  const { activeBytes } = await small.stats();
  await expect(small.loadModel(tinyModel)).rejects.toMatchObject({
    code: 'out_of_memory',
    message: expect.stringMatching(/limit is 1 MiB/),
  });
  expect(await small.stats()).toMatchObject({ models: 0, memoryLimitBytes: 1 << 20 });
  expect((await small.stats()).activeBytes).toBeLessThan(activeBytes + 500_000);
  await small.close();
  // The limit is the process's: back to the default for what follows.
  await engineModule('cpu').createEngine({ device: 'cpu' }).close();
});

it('a result that cannot be handed over rejects its promise', async () => {
  // The one way in which JS can break the making of a result: a setter on what every object inherits.
  const inherited = Object.prototype as { maxB?: unknown };
  Object.defineProperty(inherited, 'maxB', {
    configurable: true,
    set: () => {
      throw new Error('not today');
    },
  });
  try {
    const { adapter } = await newLora(engine, model);
    await expect(engine.adapterNorms(adapter)).rejects.toMatchObject({ message: 'not today' });
  } finally {
    delete inherited.maxB;
  }
  expect((await engine.stats()).jobs).toBe(0);
});

it('a model is judged without its weights, as loading it would', async () => {
  const { checkModel } = engineModule('cpu');
  const { id, ...info } = await engine.loadModel(tinyModel);
  await engine.unloadModel(id);
  expect(info).toMatchObject(checkModel(tinyModel));
  expect(info.ggufRefusal).toBeNull();
  const config = join(folder.path, 'config.json');
  writeFileSync(config, '{"model_type": "mamba"}');
  expect(() => checkModel(folder.path)).toThrow(
    expect.objectContaining({ code: 'unsupported_model', message: expect.stringContaining(config) }),
  );
});

it('a malformed file is an error of the file', async () => {
  const file = join(folder.path, 'broken.safetensors');
  writeFileSync(file, Buffer.alloc(88));
  const { readSafetensorsHeader, readGguf } = engineModule('cpu');
  for (const read of [readSafetensorsHeader, readGguf]) {
    expect(() => read(file)).toThrow(
      expect.objectContaining({ code: 'invalid_file', message: expect.stringContaining(file) }),
    );
  }
  const header = readSafetensorsHeader(join(tinyModel, 'model.safetensors'));
  expect(header['model.norm.weight']).toEqual({ dtype: 'F32', shape: [64], bytes: 256 });
});

it('a program alone gives value, metrics and gradients', async () => {
  const rows = rowsOf([4, 3]);
  const loss = maskFrom(rows, 1);
  const result = await engine.evaluateProgram({
    program: sftStep(0 as never, rows).program,
    inputs: { loss, logp: new Float32Array(5).fill(-2), entropy: new Float32Array(5).fill(1.5) },
    targets: Int32Array.of(3, 2),
    gradients: ['logp'],
  });
  expect(result.loss).toBeCloseTo(2, 6);
  expect(result.metrics['policy/entropy']).toBeCloseTo(1.5, 6);
  expect([...result.gradients.logp!]).toEqual(
    [...loss].map((m) => (m ? Math.fround(-1 / 3) : -0)).map((x) => expect.closeTo(x, 6)),
  );
});

describe('the end', () => {
  it('cancels what runs and waits, and refuses what comes after', async () => {
    const other = cpuEngine();
    const id = (await other.loadModel(tinyModel)).id;
    // It resolves with what it has where it had begun, and is dropped where not.
    const running = other.generate({ ...longGeneration(), model: id }).catch((error: unknown) => error);
    const waiting = other.score({ model: id, adapter: null, rows: pack(rowsOf([9])) });
    const closed = other.close();
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
    expect([undefined, 'cancelled']).toContain(((await running) as { code?: string }).code);
    await closed;
    await expect(other.loadModel(tinyModel)).rejects.toMatchObject({ code: 'not_found' });
    await expect(other.stats()).rejects.toMatchObject({ code: 'not_found' });
    await other.close();
  });

  const script = fileURLToPath(new URL('testing/leave-running.ts', import.meta.url));
  const tsx = ['--import', 'tsx'];

  it('of a process with work under way is clean', async () => {
    const child = fork(script, { execArgv: tsx, stdio: 'ignore' });
    const [code, signal] = await once(child, 'exit');
    expect({ code, signal }).toEqual({ code: 7, signal: null });
  });

  it('of a worker thread with work under way is clean', async () => {
    const worker = new Worker(
      `import('tsx/esm/api').then(({ tsImport }) => tsImport(${JSON.stringify(script)}, ${JSON.stringify(import.meta.url)}))`,
      { eval: true },
    );
    expect(await once(worker, 'message')).toEqual(['running']);
    await worker.terminate();
    expect((await engine.score({ model, adapter: null, rows: pack(rowsOf([9])) })).logp).toHaveLength(8);
  });
});
