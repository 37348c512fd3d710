// The engine alone: generation by batch, one LoRA step, one scoring; on the bundled model or another folder or GGUF.
import { join } from 'node:path';
import { ModelText } from '../electron/backend/text';
import { appRoot } from '../electron/backend/system';
import { readArguments } from '../electron/headless/command';
import { engineModule, type AdapterId, type Engine, type ModelId } from '../native';
import { skillData } from '../resources/recipe/corpus';
import { grpo } from '../shared/algorithms/grpo';

const NEW_TOKENS = 48;
const REPEATS = 3;

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const seconds: number[] = [];
  await work();
  for (let k = 0; k < REPEATS; k++) {
    const start = performance.now();
    await work();
    seconds.push((performance.now() - start) / 1000);
  }
  return median(seconds);
}

export async function benchEngine(args: string[]): Promise<number> {
  const { values, device } = readArguments(args, { model: { type: 'string' } });
  const module = engineModule(device);
  const engine = module.createEngine({ device });
  const path = values.model ?? join(appRoot(), 'resources/models/abacus');
  const text = path.endsWith('.gguf')
    ? await ModelText.fromGguf(module.readGguf(path).metadata)
    : await ModelText.fromFolder(path);
  const { id: model, parameters } = await engine.loadModel(path);
  const adapter = await engine.createAdapter(model, {
    rank: 16,
    alpha: 32,
    targetModules: 'all-linear',
    seed: 1,
  });
  const questions = skillData('sums').rows.slice(0, 8);
  const prompts = await Promise.all(
    questions.map(async ({ prompt }) => (await text.prompt([{ role: 'user', content: prompt }])).ids),
  );
  console.log(`${path}: ${(parameters / 1e6).toFixed(2)} million parameters on ${device}`);
  await decoding(engine, model, adapter.id, prompts);
  await learning(engine, model, adapter.id, prompts);
  await engine.close();
  return 0;
}

/** No stop ids: every row gets all its tokens. */
async function decoding(
  engine: Engine,
  model: ModelId,
  adapter: AdapterId,
  prompts: Int32Array[],
): Promise<void> {
  for (const [count, samples] of [
    [1, 1],
    [2, 8],
    [8, 8],
    [8, 32],
  ] as const) {
    const seconds = await timed(() =>
      engine.generate({
        model,
        adapter,
        prompts: prompts.slice(0, count),
        samplesPerPrompt: samples,
        maxNewTokens: NEW_TOKENS,
        temperature: 1,
        stopIds: new Int32Array(),
        seed: 1,
      }),
    );
    const tokens = count * samples * NEW_TOKENS;
    console.log(
      `decode with LoRA, ${String(count * samples).padStart(3)} rows: ${Math.round(tokens / seconds)} tokens/s`,
    );
  }
}

async function learning(
  engine: Engine,
  model: ModelId,
  adapter: AdapterId,
  prompts: Int32Array[],
): Promise<void> {
  const { rows } = await engine.generate({
    model,
    adapter,
    prompts,
    samplesPerPrompt: 8,
    maxNewTokens: NEW_TOKENS,
    temperature: 1,
    stopIds: new Int32Array(),
    seed: 1,
  });
  const sequences = rows.map((row) => Int32Array.from([...prompts[row.prompt]!, ...row.ids]));
  const batch = {
    ids: Int32Array.from(sequences.flatMap((ids) => [...ids])),
    lengths: Int32Array.from(sequences, ({ length }) => length),
  };
  const mask: number[] = [];
  const sampled: number[] = [];
  for (const row of rows) {
    const prompt = prompts[row.prompt]!.length;
    for (let k = 1; k < prompt; k++) {
      mask.push(0);
      sampled.push(0);
    }
    mask.push(...row.ids.map(() => 1));
    sampled.push(...row.logprob);
  }
  const params = grpo.params.parse({});
  const optimizer = await engine.createOptimizer(
    { kind: 'adapter', adapter },
    { kind: 'adamw', beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0 },
  );
  const step = () =>
    engine.step({
      optimizer,
      rows: batch,
      groups: Int32Array.from(rows, ({ prompt }) => prompt),
      program: JSON.stringify(grpo.losses(params).policy),
      inputs: {
        loss: Float32Array.from(mask),
        samplerLogp: Float32Array.from(sampled),
        advantage: Float32Array.from(rows, (_, k) => (k % 2 ? 1 : -1)),
        meanStepTokens: Float32Array.of(mask.reduce((sum, bit) => sum + bit, 0)),
      },
      temperature: 1,
      learningRate: 1e-5,
      maxGradNorm: 1,
      microTokens: 8192,
    });
  const [stepSeconds, scoreSeconds] = [
    await timed(step),
    await timed(() => engine.score({ model, adapter, rows: batch })),
  ];
  const tokens = batch.ids.length;
  const line = (name: string, seconds: number) =>
    console.log(
      `${name}, ${rows.length} rows, ${tokens} tokens: ${seconds.toFixed(3)} s, ${Math.round(tokens / seconds)} tokens/s`,
    );
  line('GRPO update of a LoRA', stepSeconds);
  line('score', scoreSeconds);
  const { peakBytes } = await engine.stats();
  console.log(`peak memory ${Math.round(peakBytes / 2 ** 20)} MiB`);
}
