import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { algorithmByKey } from '../../../shared/algorithms';
import { RunConfig, type StoredRow } from '../../../shared/contract/runs';
import { RunStore } from '../store';
import { scriptedEngine, scriptedModel, scriptedText, type ScriptedEngine } from '../testing/scripted-engine';
import { RunControl } from './control';
import type { PromptRow } from '../datasets';
import type { Scorer, TrainJob, WeightedScorer } from './job';

export function sums(count: number, from = 0): PromptRow[] {
  return Array.from({ length: count }, (_, k) => {
    const text = `${10 + ((from + k) % 80)}+${(from + k) % 7}=`;
    const [a = 0, b = 0] = text.split(/[+=]/).map(Number);
    return {
      line: k + 1,
      text,
      ids: scriptedText.encode(text),
      answer: String(a + b),
      messages: [{ role: 'user', content: text }],
      row: {},
    };
  });
}

/** 1 for the right sum, the common case of a reward. */
export const exactSum: Scorer = {
  hash: 'exact',
  takes: 'answer',
  score: (samples) =>
    Promise.resolve(
      samples.map(({ prompt, completion }) => ({
        reward: completion === prompt.answer ? 1 : 0,
        status: 'ok',
        milliseconds: 0.1,
      })),
    ),
};

export const rewarded = (scorer: Scorer): WeightedScorer[] => [{ name: 'reward', weight: 1, scorer }];

export function tempFolder(): string {
  return mkdtempSync(join(tmpdir(), 'atelier-run-'));
}

/** A GRPO run on sums, with the scripted engine. Close its store at the end. */
export function job(
  params: Record<string, unknown> = {},
  more: Partial<Omit<TrainJob, 'engine'>> & { engine?: ScriptedEngine } = {},
): TrainJob & { engine: ScriptedEngine } {
  const folder = more.folder ?? tempFolder();
  mkdirSync(folder, { recursive: true });
  const known = algorithmByKey(more.algorithm?.key ?? 'grpo')!;
  const algorithm = more.algorithm ?? known;
  return {
    folder,
    config: RunConfig.parse({
      name: 'test',
      algorithm: algorithm.key,
      model: 'scripted',
      data: { dataset: 'sums' },
      seed: 7,
      checkpointEvery: 4,
    }),
    algorithm,
    params: known.params.parse({
      ...(algorithm.key === 'grpo' ? { steps: 10 } : {}),
      learningRate: 0.3,
      ...params,
    }) as TrainJob['params'],
    engine: scriptedEngine(),
    base: scriptedModel,
    openModel: () => Promise.reject(new Error('the scripted engine has adapters only')),
    contextLength: scriptedModel.contextLength,
    text: scriptedText,
    data: { kind: 'rollouts', rows: sums(13), heldOut: sums(16, 50) },
    rewards: rewarded(exactSum),
    store: more.store ?? RunStore.open(folder),
    control: new RunControl(),
    teacher: null,
    belongsTo: { model: 'm', reward: 'exact' },
    describeAdapter: (to) => Promise.resolve(writeFileSync(join(to, 'adapter_config.json'), '{}')),
    microTokens: 4096,
    settings: { storeTokens: true, keepCheckpoints: 2 },
    onProgress: () => undefined,
    ...more,
  } as TrainJob & { engine: ScriptedEngine };
}

/** `job`, for tests of a file: stores are closed and folders removed after each. */
export function jobs(): typeof job {
  const made: TrainJob[] = [];
  afterEach(() => {
    for (const { store, folder } of made.splice(0)) {
      store.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
  return (...args) => {
    const run = job(...args);
    made.push(run);
    return run;
  };
}

/** Settles at the first change after which `holds` is true. */
export function when(store: RunStore, holds: () => boolean): Promise<void> {
  if (holds()) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = store.onChange(() => {
      if (!holds()) return;
      stop();
      resolve();
    });
  });
}

/** The scripted engine's adapter of a checkpoint. */
export const adapterOf = (folder: string, step: number) =>
  readFileSync(
    join(folder, `checkpoints/step-${String(step).padStart(8, '0')}/adapter_model.safetensors`),
    'utf8',
  );

export const rows = (store: RunStore): StoredRow[] => store.rowsAfter(0, 10_000);
export const statuses = (store: RunStore) =>
  rows(store).flatMap((row) => (row.kind === 'state' ? [row.status] : []));
export const events = (store: RunStore) =>
  rows(store).flatMap((row) => (row.kind === 'event' ? [row.code] : []));
