import { mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Context } from '../context';
import { Comparer } from '../losses/compare';
import type { Json } from '../losses/case';
import type { Line } from '../report';
import { readTensors, type Tensor } from '../safetensors';
import { byFolder, lineOf, together, type Item } from './item';
import { adapterGradients, isRecurrent } from './models';
import { entriesAt, matrix, pairsOf, toRows, unpadded } from './rows';

const BUILT = /^lora\/(llama3_rope|qwen3_tied|qwen3_moe|qwen3_5|qwen3_5_moe|qwen3_next|bailing_moe_v3)\//;

const scaled = (values: ArrayLike<number>, by: number) => Array.from(values, (v) => v / by);

/** All weights of a model, in one file or several. */
function readFolder(folder: string): Record<string, Tensor> {
  const files = readdirSync(folder).filter((name) => /^model.*\.safetensors$/.test(name));
  return Object.assign({}, ...files.map((name) => readTensors(join(folder, name))));
}

async function runAdapter(ctx: Context, folder: string, paths: string[]): Promise<Line[]> {
  const io: Json = ctx.json(`${folder}/io.json`);
  const tensors = ctx.tensors(`${folder}/io.safetensors`);
  const base = `models/${folder.split('/')[1]}`;
  const inputs = ctx.tensors(`${base}/io.safetensors`);
  const { engine } = ctx;
  const model = (await ctx.load(ctx.path(base))).id;
  const adapter = await engine.loadAdapter(model, ctx.path(folder));

  const outputs = new Comparer(2e-4);
  const plain = matrix(inputs['nopad.input_ids']);
  const logits = await engine.logits({ model, adapter: adapter.id, rows: toRows(plain), positions: 'all' });
  outputs.numbers('nopad.logits', logits, tensors['nopad.logits'].data);
  const mask = matrix(inputs['left.attention_mask']);
  const left = unpadded(matrix(inputs['left.input_ids']), mask);
  const { logp } = await engine.score({ model, adapter: adapter.id, rows: toRows(left) });
  outputs.numbers('left.logprobs', logp, entriesAt(tensors['left.logprobs'], pairsOf(mask)));
  // An adapter beside its base has to say what the merged weights say.
  const last = tensors['merged.nopad.last_logits'];
  const [b, n, v] = last.shape;
  const ends = Array.from({ length: b }, (_, i) => {
    const to = (i + 1) * plain[0].length * v;
    return Array.from(logits.slice(to - n * v, to));
  });
  outputs.numbers('merged.nopad.last_logits', ends.flat(), last.data);

  const weights = Object.keys(tensors).filter((k) => k.startsWith('merged.model.'));
  if (weights.length > 0) {
    const to = mkdtempSync(join(ctx.temporary, 'merged-'));
    const as = { kind: 'safetensors', dtype: 'f32' } as const;
    await engine.exportModel({ base: ctx.path(base), adapter: ctx.path(folder), to, as });
    const ours = readFolder(to);
    for (const key of weights)
      outputs.numbers(key, ours[key.slice('merged.'.length)]?.data ?? [], tensors[key].data);
  }
  const scales = [...new Set(adapter.modules.map((m) => m.scale))].sort((x, y) => x - y);
  const exact = new Comparer(1e-6);
  exact.numbers('scaling', scales, io.scaling);

  // Long sums of linear attention: as the README's table has it for gradients of whole models.
  const recurrent = isRecurrent(base);
  const gradient = recurrent ? new Comparer(1e-3, 0) : new Comparer(1e-5, 1e-3);
  const keys = Object.keys(tensors).filter((k) => k.startsWith('grad.'));
  if (keys.length > 0) {
    const right = unpadded(matrix(inputs['right.input_ids']), matrix(inputs['right.attention_mask']));
    const got = await adapterGradients(ctx, adapter.id, right);
    outputs.numbers('train_loss', [got.loss], [io.train_loss]);
    gradient.numbers('train_grad_global_l2', [got.gradNorm / io.train_grad_global_l2], [1]);
    const unit = (key: string) => (recurrent ? Math.hypot(...tensors[key].data) : 1);
    for (const key of keys)
      gradient.numbers(
        key,
        scaled(got.byName[key.slice('grad.'.length)] ?? [], unit(key)),
        scaled(tensors[key].data, unit(key)),
      );
  }
  await engine.unloadAdapter(adapter.id);
  await engine.unloadModel(model);

  return paths.map((path) => {
    if (path.endsWith('io.json')) return lineOf(path, io.source, exact);
    if (!path.endsWith('io.safetensors')) return lineOf(path, io.source, outputs);
    const line = lineOf(path, io.source, outputs);
    if (keys.length === 0) return line;
    const failures = [...outputs.result.failures, ...gradient.result.failures];
    return {
      ...line,
      tolerance: `${line.tolerance}; gradients ${recurrent ? "1e-3 of each one's length" : '1e-5 + 1e-3 relative'} (${gradient.result.maxError.toExponential(1)})`,
      ...(failures.length > 0 && { status: 'fail' as const, detail: failures.slice(0, 3).join('; ') }),
    };
  });
}

export const lora: Item = {
  name: 'lora',
  owns: (path) => BUILT.test(path),
  async run(ctx, paths) {
    const lines: Line[] = [];
    for (const [folder, files] of byFolder(paths, 3))
      lines.push(...(await together(files, () => runAdapter(ctx, folder, files))));
    return lines;
  },
};
