import { sftLoss } from '../../shared/algorithms/sft';
import { Comparer } from '../losses/compare';
import type { Context } from '../context';
import { smollm2Gguf } from '../packages';
import type { Line } from '../report';
import { lineOf, shortSource, together, type Item } from './item';
import { modelText } from './model-texts';
import { nativeTest } from './native';
import { toRows } from './rows';

const TENSORS = "dequantised tensors of SmolLM2's GGUF are gguf's";

async function run(ctx: Context, paths: string[]): Promise<Line[]> {
  const values = 'real_model/smollm2_135m_gguf.json';
  const fixture = ctx.json(values);
  const { engine } = ctx;
  const gguf = smollm2Gguf();
  const model = (await ctx.load(gguf)).id;
  const outputs = new Comparer(2e-3, 0);
  const exact = new Comparer(0, 0);
  const { tokenizer } = await modelText(ctx, 'smollm2');
  for (const c of fixture.cases) {
    exact.numbers(`ids of ${c.text}`, await tokenizer.encode(c.text), c.ids);
    const { logp } = await engine.score({ model, adapter: null, rows: toRows([c.ids]) });
    outputs.numbers(`token_logprobs of ${c.text}`, logp, c.token_logprobs);
    const last = await engine.logits({ model, adapter: null, rows: toRows([c.ids]), positions: 'last' });
    const top = last.reduce((a, b) => Math.max(a, b));
    const normaliser = top + Math.log(last.reduce((sum, x) => sum + Math.exp(x - top), 0));
    const ten = c.last_top10_ids.map((id: number) => last[id] - normaliser);
    outputs.numbers(`last_top10_logprobs of ${c.text}`, ten, c.last_top10_logprobs);
    const { rows } = await engine.generate({
      model,
      adapter: null,
      prompts: [Int32Array.from(c.ids)],
      samplesPerPrompt: 1,
      maxNewTokens: c.greedy_20_ids.length,
      temperature: 0,
      stopIds: new Int32Array(),
      seed: 0,
    });
    exact.numbers(`greedy ids after ${c.text}`, rows[0].ids, c.greedy_20_ids);
  }
  outputs.result.failures.push(...(await nativeTest(ctx, TENSORS)).failures);

  const { ids, losses, init } = fixture.lora_sft;
  const adapter = (await engine.loadAdapter(model, ctx.path(init))).id;
  const optimizer = await engine.createOptimizer(
    { kind: 'adapter', adapter },
    { kind: 'adamw', beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 },
  );
  const training = new Comparer(1e-3, 0);
  for (const [step, expected] of losses.entries()) {
    const { loss } = await engine.step({
      optimizer,
      rows: toRows([ids]),
      program: JSON.stringify(sftLoss()),
      inputs: { loss: new Float32Array(ids.length - 1).fill(1) },
      temperature: 1,
      learningRate: 1e-3,
      maxGradNorm: null,
      microTokens: 8192,
    });
    training.numbers(`lora_sft step ${step}`, [loss], [expected]);
  }
  await engine.freeOptimizer(optimizer);
  await engine.unloadAdapter(adapter);
  await engine.unloadModel(model);
  return paths.map((path) => {
    if (path !== values) return { ...lineOf(path, undefined, training), source: shortSource(fixture.source) };
    const failures = [outputs, exact, training].flatMap((c) => c.result.failures);
    return {
      ...lineOf(path, fixture.source, outputs),
      tolerance: `2e-3; training loss 1e-3 (${training.result.maxError.toExponential(1)}); ids exact`,
      ...(failures.length > 0 && { status: 'fail' as const, detail: failures.slice(0, 3).join('; ') }),
    };
  });
}

export const realModel: Item = {
  name: 'real_model',
  owns: (path) => path === 'real_model/smollm2_135m_gguf.json' || path.startsWith('real_model/lora_init/'),
  run: (ctx, paths) => together(paths, () => run(ctx, paths)),
};
