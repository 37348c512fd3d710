import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { AdapterId, ModelId } from '../../native';
import type { Context } from '../context';
import type { Json } from '../losses/case';
import { Comparer } from '../losses/compare';
import type { Line } from '../report';
import { byFolder, lineOf, together, type Item } from './item';
import { toRows, unpadded } from './rows';

const TOLERANCE = 1e-4;

async function scores(ctx: Context, model: ModelId, adapter: AdapterId | null, rows: number[][]) {
  const request = { model, adapter, rows: toRows(rows), logp: false, score: true };
  return (await ctx.engine.score(request)).score!;
}

/** A classifier's scores of rows together and alone, and of a batch that transformers filled up on either side. */
async function runModel(ctx: Context, folder: string, paths: string[]): Promise<Line[]> {
  const io: Json = ctx.json(`${folder}/io.json`);
  const comparer = new Comparer(TOLERANCE);
  const { id: model, scalarHead } = await ctx.load(ctx.path(folder));
  comparer.numbers('scalar head', [Number(scalarHead)], [1]);
  comparer.numbers('scores', await scores(ctx, model, null, io.rows), io.scores);
  for (const [k, row] of io.rows.entries())
    comparer.numbers(`scores[${k}] alone`, await scores(ctx, model, null, [row]), [io.scores[k]]);
  for (const side of ['left', 'right']) {
    const { ids, attention_mask: mask, scores: expected } = io.padded[side];
    comparer.numbers(side, await scores(ctx, model, null, unpadded(ids, mask)), expected);
  }
  if (io.conversations) {
    const { ids, scores: expected } = io.conversations;
    comparer.numbers('conversations', await scores(ctx, model, null, ids), expected);
  }
  await ctx.engine.unloadModel(model);
  return paths.map((path) => lineOf(path, io.source, comparer));
}

/** An adapter with a head, beside its base and merged into it. */
async function runAdapter(ctx: Context, folder: string, paths: string[]): Promise<Line[]> {
  const io: Json = ctx.json(`${folder}/io.json`);
  const { engine } = ctx;
  const comparer = new Comparer(TOLERANCE);
  const base = ctx.path(io.base);
  const { id: model } = await ctx.load(base);
  const { id: adapter } = await engine.loadAdapter(model, ctx.path(folder));
  comparer.numbers('scores', await scores(ctx, model, adapter, io.rows), io.scores);
  await engine.unloadModel(model);

  const to = mkdtempSync(join(ctx.temporary, 'merged-'));
  const as = { kind: 'safetensors', dtype: 'f32' } as const;
  await engine.exportModel({ base, adapter: ctx.path(folder), to, as });
  const merged = await ctx.load(to);
  comparer.numbers('merged', await scores(ctx, merged.id, null, io.rows), io.merged);
  await engine.unloadModel(merged.id);
  return paths.map((path) => lineOf(path, io.source, comparer));
}

export const rewardModels: Item = {
  name: 'reward models',
  owns: (path) => path.startsWith('reward_models/'),
  async run(ctx, paths) {
    const lines: Line[] = [];
    for (const [folder, files] of byFolder(paths, 2)) {
      const adapter = files.some((path) => path.endsWith('adapter_config.json'));
      const run = adapter ? runAdapter : runModel;
      lines.push(...(await together(files, () => run(ctx, folder, files))));
    }
    return lines;
  },
};
