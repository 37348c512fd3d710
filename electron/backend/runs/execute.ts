import type { Progress } from '../../../shared/contract/runs';
import { AtelierError } from '../../../shared/rpc';
import { RunStore } from '../store';
import { Interrupted, interruptible, RunControl, train, type Outcome } from '../train';
import { writeAdapterConfig } from './adapter-config';
import { checkConfig } from './check-config';
import { scorersOf } from './rewards';
import { fromEngine } from './engine-errors';
import { tellOfRows } from './left-out';
import { identity, microTokensOf, prepareData, type PreparedData } from './prepare';
import type { Live, RunEntry } from './run-entry';
import type { RunsOptions } from './options';
import type { OtherRuns } from './other-runs';
import { openRewardModel, openTeacher } from './roles';

/** Takes a run from the queue to its end. Settles when its store is closed; a failure is the run's status. */
export async function execute(entry: RunEntry, options: RunsOptions, runs: OtherRuns): Promise<void> {
  const store = RunStore.open(entry.folder);
  let end!: () => void;
  const live: Live = {
    store,
    control: new RunControl(),
    progress: null,
    ended: new Promise<void>((resolve) => (end = resolve)),
  };
  store.onChange(() => entry.changed());
  entry.live = live;
  try {
    const outcome = await work(entry, live, options, runs);
    if (outcome === 'closed') store.setStatus('interrupted', 'Atelier was closed.');
  } catch (error) {
    fail(entry, store, options, error);
  } finally {
    entry.live = null;
    store.close();
    end();
  }
}

async function work(entry: RunEntry, live: Live, options: RunsOptions, runs: OtherRuns) {
  const { sources, engineHost, settings } = options;
  const record = entry.readable;
  const { config } = record;
  const { store, control } = live;
  const onProgress = (progress: Progress) => {
    live.progress = progress;
    entry.changed();
  };
  const preparing = (done: number, total: number) =>
    onProgress({
      kind: 'progress',
      phase: 'preparing',
      step: 0,
      steps: record.steps,
      done,
      total,
      tokensPerSecond: null,
      etaSeconds: null,
    });
  store.setStatus('preparing');
  preparing(0, 1);
  // the rewards as they were when the run began, whatever their saved versions have become
  const frozen = { ...config, rewards: record.rewards };
  const { problems, checked } = await checkConfig(frozen, sources, runs);
  if (!checked) {
    const first = problems.find((problem) => problem.level === 'error')!;
    throw new AtelierError('invalid_input', first.message, first.hint);
  }
  const start = performance.now();
  const prepared = await untilReady(live, (signal) =>
    prepareData(config, checked, sources, { signal, onProgress: preparing }),
  );
  if (typeof prepared === 'string') return prepared;
  const { model, params, needs } = checked;
  const whole = params.method === 'full';
  const held = !whole || needs.roles.some((role) => role === 'reference' || role === 'critic');
  let lease: Awaited<ReturnType<typeof engineHost.acquire>> | null = null;
  let teacher: Awaited<ReturnType<typeof openTeacher>> | null = null;
  let judge: Awaited<ReturnType<typeof openRewardModel>> | null = null;
  try {
    if (held) lease = await engineHost.acquire(model.path, model.bytes, params.baseWeights);
    const engine = await engineHost.engine();
    if (store.lastStep() === 0) {
      for (const { level, message, hint } of problems)
        store.addEvent({ step: 0, level, code: 'setting', message, ...(hint === undefined ? {} : { hint }) });
      tellOfRows(store, prepared, (performance.now() - start) / 1000);
    }
    await entry.setSteps(await checked.algorithm.steps(params, prepared.usable));
    const microTokens = await microTokensOf(config, engine, model, params);
    const from = { sources, engineHost, engine, runs, microTokens };
    if (checked.teacher) teacher = await openTeacher(checked.teacher, model, prepared.data, from);
    if (checked.rewardModel) judge = await openRewardModel(checked.rewardModel, from);
    return await train({
      folder: entry.folder,
      config,
      algorithm: checked.algorithm,
      params,
      engine,
      base: lease?.model ?? null,
      // weights, masters, gradient and moments
      openModel: (folder) => engineHost.own(folder ?? model.path, 4 * model.bytes),
      contextLength: model.contextLength,
      text: model.text,
      data: prepared.data,
      teacher: teacher?.role ?? null,
      rewards: [...(await scorersOf(checked.rewards, sources)), ...(judge ? [judge.role] : [])],
      store,
      control,
      belongsTo: identity(checked, config.params, prepared),
      describeAdapter: (folder, info, spec) => writeAdapterConfig(folder, { base: model.name, info, spec }),
      microTokens,
      settings: settings.values,
      onProgress,
    });
  } finally {
    await judge?.release();
    await teacher?.release();
    lease?.release();
    prepared.close();
  }
}

/** Prepares, however often it is paused meanwhile; or how the run ended before there was a step. */
async function untilReady(
  { store, control }: Live,
  prepare: (signal: AbortSignal) => Promise<PreparedData>,
): Promise<PreparedData | Outcome> {
  for (;;) {
    if (control.wish === 'close') return 'closed';
    if (control.wish === 'stop') {
      store.setStatus('stopped', 'Stopped before the first step.');
      return 'stopped';
    }
    if (control.wish === 'pause') {
      store.setStatus('paused');
      await control.changed();
      continue;
    }
    if (store.status()?.status === 'paused') store.setStatus('preparing');
    try {
      return await interruptible(control, prepare);
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
    }
  }
}

function fail(entry: RunEntry, store: RunStore, options: RunsOptions, error: unknown): void {
  options.log.write('error', `run ${entry.id} failed`, error);
  const known = error instanceof AtelierError ? error : fromEngine(error);
  const message = known
    ? [known.message, known.hint].filter(Boolean).join(' ')
    : `Something went wrong inside: ${(error as Error).message}`;
  try {
    // a finding of the run's health is an event already
    if (known?.details?.['event'] === undefined) {
      store.addEvent({ step: store.lastStep(), level: 'error', code: known?.code ?? 'internal', message });
    }
    store.setStatus('failed', message);
  } catch (again) {
    // a full disk: the status says interrupted at the next start
    options.log.write('error', `run ${entry.id}: its failure could not be stored`, again);
  }
}
