import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { sftLoss } from '../../shared/algorithms/sft';
import type { AdapterId, ModelId, OptimizerId, StepRequest } from '../../native';
import type { Context } from '../context';
import { Comparer } from '../losses/compare';
import type { Json } from '../losses/case';
import type { Line } from '../report';
import { readTensors, renameTensors, type Tensor } from '../safetensors';
import { byFolder, lineOf, together, type Item } from './item';
import { nativeTest } from './native';
import { entriesAt, matrix, pairsOf, toRows, unpadded } from './rows';

const BUILT = [
  'qwen3_tied',
  'qwen3_untied',
  'smollm2',
  'llama3_rope',
  'qwen2',
  'gemma3_text',
  'qwen3_moe',
  'qwen3_moe_nonorm',
  'mistral',
  'smollm3',
  'llama_yarn',
  'llama_linear',
  'qwen3_5',
  'qwen3_5_moe',
  'qwen3_next',
  'bailing_moe_v3',
];
/** Those with linear attention, and what the order of its sums alone may change. */
const RECURRENT = ['qwen3_5', 'qwen3_5_moe', 'qwen3_next', 'bailing_moe_v3'];
export const isRecurrent = (folder: string) => RECURRENT.some((name) => folder.endsWith(`/${name}`));
const tolerance = (folder: string) => (isRecurrent(folder) ? 1e-3 : 1e-4);
/** Other forms of config.json; the text model alone names its tensors without the part that holds it. */
const OTHER_CONFIGS: Record<string, (tensor: string) => string> = {
  'config_legacy.json': (tensor) => tensor,
  'config_text_only.json': (tensor) => tensor.replace(/^model\.language_model\./, 'model.'),
};
const HIDDEN = "logits, log-probabilities, entropy and hidden states are transformers'";

/** Logits, log-probabilities and entropy of every input against io.safetensors. */
async function compareIo(ctx: Context, model: ModelId, io: Record<string, Tensor>, comparer: Comparer) {
  const { engine } = ctx;
  const all = async (rows: number[][]) =>
    engine.logits({ model, adapter: null, rows: toRows(rows), positions: 'all' });
  const score = async (rows: number[][]) =>
    engine.score({ model, adapter: null, rows: toRows(rows), entropy: true });

  const plain = matrix(io['nopad.input_ids']);
  const ones = plain.map((row) => row.map(() => 1));
  comparer.numbers('nopad.logits', await all(plain), io['nopad.logits'].data);
  const nopad = await score(plain);
  comparer.numbers('nopad.logprobs', nopad.logp, io['nopad.logprobs'].data);
  const predicting = ones.map((row) => row.map((_, t) => (t < row.length - 1 ? 1 : 0)));
  comparer.numbers('nopad.entropy', nopad.entropy!, entriesAt(io['nopad.entropy'], predicting));

  for (const side of ['left', 'right']) {
    const mask = matrix(io[`${side}.attention_mask`]);
    const rows = unpadded(matrix(io[`${side}.input_ids`]), mask);
    const expected = entriesAt(io[`${side}.logprobs`], pairsOf(mask));
    comparer.numbers(`${side}.logprobs`, (await score(rows)).logp, expected);
    const logits = io[`${side}.logits`] as Tensor | undefined;
    if (logits) comparer.numbers(`${side}.logits`, await all(rows), entriesAt(logits, mask));
  }
  const long = matrix(io['long.input_ids']);
  comparer.numbers('long.logprobs', (await score(long)).logp, io['long.logprobs'].data);
  const expected = io['long.last_logits'].data;
  comparer.numbers('long.last_logits', (await all(long)).slice(-expected.length), expected);
}

/** Greedy ids, with prompts of different length and with an end token; exact. */
async function compareGreedy(ctx: Context, model: ModelId, io: Json, left: number[][], comparer: Comparer) {
  const run = async (prompts: number[][], tokens: number, stopIds: number[] = []) => {
    const { rows } = await ctx.engine.generate({
      model,
      adapter: null,
      prompts: prompts.map((p) => Int32Array.from(p)),
      samplesPerPrompt: 1,
      maxNewTokens: tokens,
      temperature: 0,
      stopIds: Int32Array.from(stopIds),
      seed: 0,
    });
    return rows.map((r) => Array.from(r.ids));
  };
  const check = (name: string, got: number[][], expected: number[][]) =>
    comparer.numbers(name, got.flat(), expected.flat());
  const { prompt_ids, new_ids } = io.greedy;
  check('greedy', await run(prompt_ids, new_ids[0].length), new_ids);
  const padded = io.greedy_left_padded.new_ids;
  check('greedy_left_padded', await run(left, padded[0].length), padded);
  const { eos_token_id: eos, new_ids: ended } = io.greedy_with_eos;
  const cut = ended.map((row: number[]) =>
    row.slice(0, row.includes(eos) ? row.indexOf(eos) + 1 : row.length),
  );
  check('greedy_with_eos', await run(prompt_ids, ended[0].length, [eos]), cut);
}

/**
 * Loss and gradient of the mean cross-entropy by every parameter of a model, by their names in files. Read from the
 * optimiser's first moment, which with beta1 = 0 is the gradient.
 */
async function gradients(ctx: Context, model: ModelId, rows: number[][]) {
  const { engine } = ctx;
  const optimizer = await engine.createOptimizer(
    { kind: 'full', model },
    {
      kind: 'adamw',
      beta1: 0,
      beta2: 0.999,
      epsilon: 1e-8,
      weightDecay: 0,
    },
  );
  const result = await engine.step(supervised(optimizer, rows, 0));
  const file = join(ctx.temporary, 'moments.safetensors');
  await engine.saveOptimizer(optimizer, file);
  await engine.freeOptimizer(optimizer);
  const moments = Object.entries(readTensors(file)).filter(([name]) => name.startsWith('m.'));
  return { ...result, byName: Object.fromEntries(moments.map(([name, t]) => [name.slice(2), t])) };
}

/** A step by the mean cross-entropy of all tokens. */
function supervised(optimizer: OptimizerId, rows: number[][], learningRate: number): StepRequest {
  const targets = rows.reduce((n, r) => n + r.length - 1, 0);
  return {
    optimizer,
    rows: toRows(rows),
    program: JSON.stringify(sftLoss()),
    inputs: { loss: new Float32Array(targets).fill(1) },
    temperature: 1,
    learningRate,
    maxGradNorm: null,
    microTokens: 8192,
  };
}

/** The same of an adapter by PEFT's names: what a step along the gradient, at rate 1, takes off. */
export async function adapterGradients(ctx: Context, adapter: AdapterId, rows: number[][]) {
  const { engine } = ctx;
  const spec = { kind: 'sgd', momentum: 0, weightDecay: 0 } as const;
  const optimizer = await engine.createOptimizer({ kind: 'adapter', adapter }, spec);
  const [before, after] = ['before', 'after'].map((name) => join(ctx.temporary, `${name}.safetensors`));
  await engine.saveAdapter(adapter, before);
  const result = await engine.step(supervised(optimizer, rows, 1));
  await engine.saveAdapter(adapter, after);
  await engine.freeOptimizer(optimizer);
  const moved = readTensors(after);
  const byName = Object.entries(readTensors(before)).map(
    ([name, { data }]) => [name, Array.from(data, (x, k) => x - moved[name].data[k])] as const,
  );
  return { ...result, byName: Object.fromEntries(byName) };
}

/** As the README's table: l2 within 1e-3 relative, first values within 1e-3 of l2. */
function compareGradients(got: Record<string, Tensor>, expected: Json, comparer: Comparer) {
  for (const [key, { l2, first }] of Object.entries<Json>(expected)) {
    // The fixtures double a prefix. What has no gradient there (a router's bias) is not trained here.
    const data = got[key.replace('.language_model.language_model.', '.language_model.')]?.data;
    if (l2 === 0 && data === undefined) continue;
    comparer.numbers(`gradient ${key} l2`, [Math.hypot(...(data ?? [])) / l2], [1]);
    if (data === undefined) continue;
    const values = Array.from(data.slice(0, first.length), (v) => v / l2);
    comparer.numbers(
      `gradient ${key}`,
      values,
      first.map((v: number) => v / l2),
    );
  }
}

async function runModel(ctx: Context, folder: string, paths: string[]): Promise<Line[]> {
  const io = ctx.json(`${folder}/io.json`);
  const tensors = ctx.tensors(`${folder}/io.safetensors`);
  const info = await ctx.load(ctx.path(folder));
  const outputs = new Comparer(tolerance(folder));
  await compareIo(ctx, info.id, tensors, outputs);
  const hidden = await nativeTest(ctx, HIDDEN);
  outputs.result.maxError = Math.max(outputs.result.maxError, hidden.excess * 1e-4);
  outputs.result.failures.push(...hidden.failures);

  const scores = new Comparer(tolerance(folder));
  const { prompt_len, token_logprobs } = io.continuation;
  const plain = matrix(tensors['nopad.input_ids']);
  const scored = await ctx.engine.score({ model: info.id, adapter: null, rows: toRows(plain) });
  const each = plain[0].length - 1;
  scores.numbers(
    'continuation',
    plain.flatMap((_, i) => Array.from(scored.logp.slice(i * each + prompt_len - 1, (i + 1) * each))),
    token_logprobs.flat(),
  );
  const exact = new Comparer(0, 0);
  const leftMask = matrix(tensors['left.attention_mask']);
  await compareGreedy(ctx, info.id, io, unpadded(matrix(tensors['left.input_ids']), leftMask), exact);
  const right = unpadded(matrix(tensors['right.input_ids']), matrix(tensors['right.attention_mask']));
  const grads = await gradients(ctx, info.id, right);
  scores.numbers('train.loss', [grads.loss], [io.train.loss]);
  const gradient = new Comparer(1e-3, 0);
  gradient.numbers('grad_global_l2', [grads.gradNorm / io.train.grad_global_l2], [1]);
  compareGradients(grads.byName, io.train.grads, gradient);
  await ctx.engine.unloadModel(info.id);

  const lines: Line[] = [];
  const add = (name: string, line: () => Line | Line[]) => {
    if (paths.includes(`${folder}/${name}`)) lines.push(...[line()].flat());
  };
  const { source } = io;
  add('io.safetensors', () => lineOf(`${folder}/io.safetensors`, source, outputs));
  for (const path of paths.filter((p) => /\/model[^/]*\.safetensors(\.index\.json)?$/.test(p)))
    lines.push(lineOf(path, source, outputs));
  add('config.json', () => lineOf(`${folder}/config.json`, source, outputs));
  add('io.json', () => {
    const failures = [...exact.result.failures, ...scores.result.failures, ...gradient.result.failures];
    const line = lineOf(
      `${folder}/io.json`,
      source,
      gradient,
      `1e-3 of each gradient; log-probabilities ${scores.atol} (${scores.result.maxError.toExponential(1)}); greedy ids exact`,
    );
    return failures.length ? { ...line, status: 'fail', detail: failures.slice(0, 3).join('; ') } : line;
  });
  for (const [config, rename] of Object.entries(OTHER_CONFIGS)) {
    if (!paths.includes(`${folder}/${config}`)) continue;
    const other = new Comparer(tolerance(folder));
    const copy = join(ctx.temporary, folder, config);
    mkdirSync(copy, { recursive: true });
    cpSync(ctx.path(folder), copy, { recursive: true });
    cpSync(ctx.path(`${folder}/${config}`), join(copy, 'config.json'));
    for (const file of readdirSync(copy).filter((f) => /^model.*\.safetensors$/.test(f)))
      renameTensors(join(copy, file), rename);
    const { id } = await ctx.load(copy);
    await compareIo(ctx, id, tensors, other);
    await ctx.engine.unloadModel(id);
    lines.push(lineOf(`${folder}/${config}`, source, other));
  }
  return lines;
}

export const models: Item = {
  name: 'models',
  owns: (path) => BUILT.some((name) => path.startsWith(`models/${name}/`)),
  async run(ctx, paths) {
    const lines: Line[] = [];
    for (const [folder, files] of byFolder(paths, 2))
      lines.push(...(await together(files, () => runModel(ctx, folder, files))));
    return lines;
  },
};
