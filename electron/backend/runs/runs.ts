import { createHash } from 'node:crypto';
import type { Adapter } from '../../../shared/contract/models';
import type { RunConfig, RunStatus } from '../../../shared/contract/runs';
import type { SystemStatus } from '../../../shared/contract/system';
import { AtelierError } from '../../../shared/rpc';
import type { z } from 'zod';
import {
  createRunFolder,
  listRunFolders,
  makeRunId,
  readRecord,
  removeRunFolder,
  RunStore,
  sweepCheckpoints,
  writeRecord,
  type RunRecord,
} from '../store';
import type { EngineHost } from '../system';
import { checkConfig, type Checked } from './check-config';
import { algorithmOfRun } from './about-run';
import { execute } from './execute';
import type { KnownRun, OtherRuns } from './other-runs';
import { prepareData } from './prepare';
import { RunEntry } from './run-entry';
import type { RunsOptions } from './options';
import type { Sources } from './sources';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** Statuses of a run whose process has died. */
const atWork: ReadonlySet<RunStatus> = new Set(['preparing', 'running', 'paused', 'stopping']);
const resumable: ReadonlySet<RunStatus> = new Set(['interrupted', 'failed', 'stopped']);
/** Deaths in a row without a new checkpoint after which a run no longer goes on by itself. */
const MAX_DEATHS = 2;
const SOME_ROWS = 2048;

/** All runs of a data folder: one works, others wait. */
export class Runs implements OtherRuns {
  readonly #entries = new Map<string, RunEntry>();
  #queue: RunEntry[] = [];
  #active: RunEntry | null = null;
  #closing = false;

  private constructor(private readonly options: RunsOptions) {}

  /** Rebuilds the list from the folders. */
  static async open(options: RunsOptions): Promise<Runs> {
    const runs = new Runs(options);
    const waiting: RunEntry[] = [];
    for (const id of await listRunFolders(options.home)) {
      const entry = new RunEntry(options.home, id);
      runs.#entries.set(id, entry);
      await runs.#recover(entry, waiting);
    }
    runs.#queue = waiting.sort((a, b) => a.record!.createdAt - b.record!.createdAt);
    runs.#pump();
    return runs;
  }

  async #recover(entry: RunEntry, waiting: RunEntry[]): Promise<void> {
    try {
      entry.record = await readRecord(entry.folder);
      const { status } = entry;
      if (status === 'queued') waiting.push(entry);
      if (!atWork.has(status)) return;
      const store = RunStore.open(entry.folder);
      try {
        await sweepCheckpoints(entry.folder, store);
        const again = this.options.restarted && status !== 'paused' && deaths(store) < MAX_DEATHS;
        store.setStatus('interrupted', 'The process ended in the middle of the run.');
        if (again) waiting.push(entry);
      } finally {
        store.close();
        entry.close();
      }
    } catch (error) {
      entry.record = null;
      const { message, hint } = error as AtelierError;
      entry.corrupt = [message, hint].filter(Boolean).join(' ');
      this.options.log.write('warning', `run ${entry.id} cannot be read`, error);
    }
  }

  get(id: string): RunEntry {
    const entry = this.#entries.get(id);
    if (entry) return entry;
    const newest = this.all().slice(0, 5);
    throw new AtelierError(
      'not_found',
      `There is no run "${id}".`,
      newest.length === 0 ? 'There are none yet.' : `The newest: ${newest.map((run) => run.id).join(', ')}.`,
    );
  }

  /** Newest first. */
  all(): RunEntry[] {
    return [...this.#entries.values()].sort(
      (a, b) => (b.record?.createdAt ?? 0) - (a.record?.createdAt ?? 0),
    );
  }

  /** Place in the queue, from 1. */
  place(entry: RunEntry): number | null {
    const index = this.#queue.indexOf(entry);
    return index < 0 ? null : index + 1;
  }

  async start(config: RunConfig): Promise<{ id: string; queued: boolean }> {
    const { checked } = await this.#check(config);
    const { sources, home } = this.options;
    const rows = await this.#rowCount(config, checked, sources);
    const id = makeRunId(config.name);
    const record: RunRecord = {
      format: 2,
      id,
      name: config.name,
      createdAt: Date.now(),
      modelName: checked.model.name,
      steps: await checked.algorithm.steps(checked.params, rows),
      headline: checked.algorithm.headline,
      rewards: checked.rewards,
      provenance: {
        ...this.options.provenance,
        ...devicesOf(this.options.engineHost),
        model: checked.model.hash,
        template: checked.model.templateHash,
        ...(checked.own ? { algorithm: sha256(checked.own.code) } : {}),
      },
      own: checked.own?.info ?? null,
      config: { ...config, params: checked.params, algorithmCode: checked.own?.code ?? null },
    };
    await createRunFolder(home, record);
    const entry = new RunEntry(home, id);
    entry.record = record;
    entry.write((store) => store.setStatus('queued'));
    this.#entries.set(id, entry);
    this.#queue.push(entry);
    const queued = this.#active !== null;
    this.#pump();
    return { id, queued };
  }

  async #check(config: RunConfig): Promise<{ checked: Checked }> {
    const { problems, checked } = await checkConfig(config, this.options.sources, this);
    if (checked) return { checked };
    const first = problems.find((problem) => problem.level === 'error')!;
    throw new AtelierError('invalid_input', first.message, first.hint, { path: first.path, problems });
  }

  /**
   * Usable rows, so that data that does not fit is an error of the start and not of the run. The first rows tell; of
   * many the number is an estimate until the run has prepared them.
   */
  async #rowCount(config: RunConfig, checked: Checked, sources: Sources): Promise<number> {
    try {
      const prepared = await prepareData(config, checked, sources, { limit: SOME_ROWS });
      prepared.close();
      return prepared.usable;
    } catch (error) {
      if (!(error instanceof AtelierError) || error.details?.['path'] !== undefined) throw error;
      throw new AtelierError(error.code, error.message, error.hint, { ...error.details, path: 'data' });
    }
  }

  pause(id: string): void {
    const { live } = this.get(id);
    if (!live)
      throw new AtelierError('conflict', `The run is ${this.get(id).status}: there is nothing to pause.`);
    live.control.want('pause');
  }

  resume(id: string): void {
    const entry = this.get(id);
    if (entry.live) {
      entry.live.control.want('run');
      return;
    }
    void entry.readable;
    const { status } = entry;
    if (status === 'queued') return;
    if (!resumable.has(status)) {
      throw new AtelierError(
        'conflict',
        `A run that is ${status} cannot be resumed.`,
        'Start a new run to learn more.',
      );
    }
    entry.write((store) => store.setStatus('queued'));
    this.#queue.push(entry);
    this.#pump();
  }

  stop(id: string): void {
    const entry = this.get(id);
    if (entry.live) {
      entry.live.control.want('stop');
      return;
    }
    const { status } = entry;
    if (status !== 'queued' && status !== 'interrupted') {
      throw new AtelierError('conflict', `The run has ended: it is ${status}.`);
    }
    this.#queue = this.#queue.filter((other) => other !== entry);
    entry.write((store) =>
      store.setStatus('stopped', status === 'queued' ? 'Stopped while it waited.' : undefined),
    );
  }

  async remove(id: string): Promise<void> {
    const entry = this.get(id);
    if (entry.live) throw new AtelierError('conflict', 'The run is at work.', 'Stop it first.');
    this.#queue = this.#queue.filter((other) => other !== entry);
    this.#entries.delete(id);
    entry.close();
    await removeRunFolder(this.options.home, id);
    entry.changed();
  }

  async rename(id: string, name: string): Promise<void> {
    const entry = this.get(id);
    const record = { ...entry.readable, name };
    await writeRecord(entry.folder, record);
    entry.record = record;
    entry.changed();
  }

  /** Name of a run that works on a model or data set, or waits for it; null when it is free. */
  uses(kind: 'model' | 'dataset', id: string): string | null {
    const busy = [this.#active, ...this.#queue].find((entry) => {
      const config = entry?.record?.config;
      return kind === 'model' ? config?.model === id : config?.data.dataset === id;
    });
    return busy?.record?.name ?? null;
  }

  about({ run, checkpoint }: Parameters<OtherRuns['about']>[0]): KnownRun {
    const entry = this.get(run);
    entry.checkpoint(checkpoint);
    const { name, config, modelName } = entry.readable;
    const scalarHead = algorithmOfRun(entry.readable)?.scalarHead ?? false;
    return { name, model: config.model, modelName, scalarHead };
  }

  taught(...[{ run, checkpoint }, by]: Parameters<OtherRuns['taught']>): ReturnType<OtherRuns['taught']> {
    return this.get(run).taught(checkpoint, by);
  }

  /** Committed checkpoints of all runs, of one model where it is given. */
  adapters(model?: string): z.input<typeof Adapter>[] {
    return this.all().flatMap((entry) => {
      const { record } = entry;
      if (!record || (model !== undefined && record.config.model !== model)) return [];
      return entry.reader.checkpoints().map((checkpoint) => ({
        run: entry.id,
        runName: record.name,
        checkpoint: checkpoint.step,
        model: record.config.model,
        scalarHead: algorithmOfRun(record)?.scalarHead ?? false,
        step: checkpoint.step,
        reward: checkpoint.reward,
        bytes: checkpoint.bytes,
        holds: entry.holds,
        createdAt: checkpoint.at,
      }));
    });
  }

  isBusy(): boolean {
    return this.#active !== null;
  }

  status(): Pick<SystemStatus, 'activeRun' | 'queued'> {
    const entry = this.#active;
    const progress = entry?.live?.progress;
    return {
      activeRun: entry?.record
        ? {
            id: entry.id,
            name: entry.record.name,
            step: entry.reader.lastStep(),
            steps: entry.record.steps,
            status: entry.status,
            etaSeconds: progress?.etaSeconds ?? null,
          }
        : null,
      queued: this.#queue.length,
    };
  }

  #pump(): void {
    if (this.#active || this.#closing) return;
    const entry = this.#queue.shift();
    if (!entry) {
      this.options.onWorking?.(null);
      return;
    }
    this.#active = entry;
    this.options.onWorking?.(entry.record!.name);
    void execute(entry, this.options, this).finally(() => {
      this.#active = null;
      this.#pump();
    });
  }

  /** Ends the work at hand, to be resumed; what waits stays waiting. */
  async close(): Promise<void> {
    this.#closing = true;
    const live = this.#active?.live;
    live?.control.want('close');
    await live?.ended;
    for (const entry of this.#entries.values()) entry.close();
  }
}

/** Times the process died since the newest checkpoint. */
function deaths(store: RunStore): number {
  let count = 0;
  for (let after = 0; ;) {
    const rows = store.rowsAfter(after);
    for (const row of rows) {
      if (row.kind === 'checkpoint') count = 0;
      if (row.kind === 'state' && row.status === 'interrupted') count++;
      after = row.seq;
    }
    if (rows.length === 0) return count;
  }
}

/** Of several that work together, their numbers: sums are made in another order then. */
const devicesOf = ({ devices }: Pick<EngineHost, 'devices'>): Record<string, string> =>
  devices !== null && devices.length > 1 ? { devices: devices.join(', ') } : {};
