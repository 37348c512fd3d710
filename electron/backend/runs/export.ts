import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExportForm, ExportProgress } from '../../../shared/contract/runs';
import { AtelierError } from '../../../shared/rpc';
import type { HostSpawn } from '../../supervise/host-spawn';
import type { Roots } from '../places';
import { files } from '../store';
import { sequencesOf } from '../datasets';
import type { Taught } from '../system';
import { formOf, type ExportModule } from './export-forms';
import { refusalOf, refusalsOf } from './export-refusals';
import { logitDifference, within, type Difference } from './logit-difference';
import { modelCard } from './model-card';
import { algorithmOfRun } from './about-run';
import { refuseTaken, targetOf, writable } from './export-target';
import type { RunEntry } from './run-entry';
import type { RunsOptions } from './options';
import { summarise } from './summary';
import type { UsableModel } from './sources';
import { outputsOf, type Compared } from './outputs';
import { verifyInFreshProcess } from './verify';

const PROMPTS = 8;

export interface ExportRequest {
  checkpoint?: number | undefined;
  path?: string | undefined;
  as: ExportForm;
}

export type ExportOptions = RunsOptions & {
  spawn: HostSpawn;
  roots: Pick<Roots, 'resolve'>;
  module: () => ExportModule;
};

/**
 * Writes a checkpoint as a folder of the asked form, reloads it in a fresh process and compares logits; only then the folder
 * gets its name. One that compares badly is kept for who wants to look, and says so itself; one that could not
 * be compared leaves nothing.
 */
export async function* exportRun(
  entry: RunEntry,
  request: ExportRequest,
  options: ExportOptions,
  signal: AbortSignal,
): AsyncIterable<ExportProgress> {
  const record = entry.readable;
  const form = formOf(request.as);
  const compared = comparedOf(entry);
  const checkpoint = entry.checkpoint(request.checkpoint);
  const source = await entry.taught(checkpoint.step, 'hashes');
  const model = await options.sources.model(record.config.model);
  const refused = await refusalOf(request.as.kind, {
    taught: source,
    compared,
    model,
    module: options.module,
  });
  if (refused) throw new AtelierError('unsupported', refused.message, refused.hint, { path: 'as' });
  yield { kind: 'progress', phase: 'writing', done: 0, total: 3 };
  const target = await targetOf(entry, `step-${checkpoint.step}${form.suffix}`, request.path, options.roots);
  const { heldOut } = await summarise(entry, null);
  const temporary = `${target}.tmp-${randomBytes(4).toString('hex')}`;
  try {
    await writable(target, async () => {
      // not `recursive`: its parent is there, and on some file systems Node then tries for ever
      await mkdir(temporary);
      const { path: base } = model;
      await form.write({
        engine: await options.engineHost.engine(),
        module: options.module(),
        text: base,
        ...(source.kind === 'model'
          ? { base: source.folder, adapter: null }
          : { base, adapter: source.folder }),
        name: record.name,
        to: temporary,
        signal,
      });
    });
    signal.throwIfAborted();
    yield { kind: 'progress', phase: 'verifying', done: 0, total: 1 };
    const { live, base } = await compare(entry, model, source, temporary, form, compared, options);
    signal.throwIfAborted();
    const verified = within(live, form.limits[compared]) && base.logit > 0;
    const message = verified ? null : complaint(live, base, compared);
    const list = await writable(target, async () => {
      const card = modelCard(record, {
        step: checkpoint.step,
        heldOut,
        unverified: message,
        form: request.as,
        scalarHead: compared === 'scores',
      });
      await writeFile(join(temporary, 'README.md'), card);
      const names = (await readdir(temporary)).sort();
      for (const name of names) await files.sync(join(temporary, name));
      const sizes = names.map(async (name) => ({ name, bytes: (await stat(join(temporary, name))).size }));
      const found = await Promise.all(sizes);
      await refuseTaken(target);
      await rename(temporary, target);
      return found;
    });
    entry.write((store) => store.addExport({ path: target, checkpoint: checkpoint.step, verified }));
    yield {
      kind: 'done',
      path: target,
      files: list,
      maxDifferenceLive: live.logit,
      maxDifferenceBase: base.logit,
      meanKl: live.kl,
      topAgreement: live.top,
      compared,
      verified,
      ...(message === null ? {} : { message }),
    };
  } finally {
    // it has its name by then, unless something failed
    await rm(temporary, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** Which forms the run's checkpoints can take; where one cannot, why. @throws AtelierError not_found without a checkpoint */
export async function exportForms(entry: RunEntry, options: ExportOptions) {
  const [taught, model] = [await entry.taught(), await options.sources.model(entry.readable.config.model)];
  return refusalsOf({ taught, compared: comparedOf(entry), model, module: options.module });
}

function complaint(live: Difference, base: Difference, compared: Compared): string {
  if (base.logit === 0) return 'It computes exactly what the base model does: it has learnt nothing.';
  const more = compared === 'logits' ? ` (mean divergence ${live.kl.toPrecision(2)} nats)` : '';
  return `Reloaded, its ${compared} differ from the trained model's by up to ${live.logit}${more}. Do not use this folder.`;
}

/**
 * What was written in a fresh process, against this one with and without the adapter, on the run's first prompts. An
 * adapter is held against the weights that it was trained beside; a merged model against the base as it is stored, which
 * it was merged into.
 */
async function compare(
  entry: RunEntry,
  model: UsableModel,
  source: Taught,
  target: string,
  form: ReturnType<typeof formOf>,
  what: Compared,
  options: ExportOptions,
): Promise<{ live: Difference; base: Difference }> {
  const { rows } = await promptRows(entry, options);
  const weights = form.model === null ? entry.baseWeights : 'stored';
  const here = async (taught: Taught | null): Promise<Float32Array> => {
    const held = await options.engineHost.weights(model, taught, weights);
    try {
      const engine = await options.engineHost.engine();
      // beside a base that gives no scores a head begins at 0
      if (what === 'scores' && taught === null && !held.model.scalarHead)
        return new Float32Array(rows.lengths.length);
      return await outputsOf(engine, what, { model: held.model.id, adapter: held.adapter }, rows);
    } finally {
      held.release();
    }
  };
  const live = await here(source);
  const base = await here(null);
  const fresh = await verifyInFreshProcess(options.spawn, {
    device: options.engineHost.device,
    ...(form.model === null
      ? { model: model.path, adapter: target }
      : { model: form.model(target), adapter: null }),
    weights,
    rows,
    what,
  });
  const count = rows.lengths.length;
  return { live: logitDifference(fresh, live, count), base: logitDifference(fresh, base, count) };
}

const comparedOf = (entry: RunEntry): Compared =>
  algorithmOfRun(entry.readable)?.scalarHead ? 'scores' : 'logits';

/** The first prompts (or examples) of the run's data. */
async function promptRows(entry: RunEntry, options: RunsOptions) {
  const { config } = entry.readable;
  const model = await options.sources.model(config.model);
  const { dataset, mapping } = config.data;
  // one that this version does not have: its rows are read as prompts
  const kind = algorithmOfRun(entry.readable)?.data ?? 'rollouts';
  const { rows, close } = await options.sources.rows(kind, dataset, {
    mapping,
    model,
    maxTokens: model.contextLength,
    completionOnly: true,
    limit: PROMPTS,
  });
  const all = Array.from({ length: rows.length }, (_, k) => rows.at(k)!);
  close();
  const chosen = all.flatMap(sequencesOf).slice(0, PROMPTS);
  if (chosen.length === 0) {
    throw new AtelierError(
      'invalid_data',
      `No row of "${dataset}" can be used to check the export.`,
      'The data set has changed since the run: put it back.',
    );
  }
  return {
    rows: {
      ids: Int32Array.from(chosen.flatMap((ids) => Array.from(ids))),
      lengths: Int32Array.from(chosen, ({ length }) => length),
    },
  };
}
