// The engine alone: generation by batch, one LoRA step, one scoring; on the bundled model or another folder or GGUF.
import { join } from 'node:path';
import { ModelText } from '../electron/backend/text';
import { appRoot } from '../electron/backend/system';
import { readArguments } from '../electron/headless/command';
import { engineModule, type AdapterId, type Engine, type ModelId } from '../native';
import { skillData } from '../resources/recipe/corpus';
import { adamw, complete, timed, updateBy } from './grpo-work';

const NEW_TOKENS = 48;

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
      complete(engine, model, adapter, prompts.slice(0, count), samples, NEW_TOKENS),
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
  const { rows } = await complete(engine, model, adapter, prompts, 8, NEW_TOKENS);
  const { batch, update } = updateBy(engine, await adamw(engine, adapter), prompts, rows);
  const [stepSeconds, scoreSeconds] = [
    await timed(update),
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
