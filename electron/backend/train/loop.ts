import { planOf, type Plan } from './plan';
import { AtelierError } from '../../../shared/rpc';
import { files, isDiskFull, type FinishedStep } from '../store';
import { evaluate } from './evaluate';
import { gatherExamples, type Gathered } from './gathered';
import { gatherRollouts } from './gather-rollouts';
import { Health, type Finding } from './health';
import { Interrupted, interruptible } from './interrupt';
import type { ExampleRow, PromptRow, TrainJob } from './job';
import { learn } from './learn';
import { closePolicy, openPolicy, proveSaved, saveCheckpoint, type Policy } from './policy';
import { ProgressMeter } from './progress';

export type Outcome = 'completed' | 'stopped' | 'closed';

/** How often a run that waits for disk space looks whether there is some. */
const ROOM_POLL_MS = 5_000;
const ROOM_BYTES = 256 * 1024 * 1024;

/**
 * Trains a run from where it stands to its end, its stop or the backend's close; writes every status but a
 * failure's, which it throws.
 */
export async function train(job: TrainJob): Promise<Outcome> {
  const training = await Training.open(job);
  try {
    return await training.run();
  } finally {
    await closePolicy(job, training.policy).catch(() => undefined);
  }
}

class Training {
  readonly #meter: ProgressMeter;
  readonly #health: Health;
  /** Steps of the newest checkpoint. */
  #saved: number;
  #reward: number | null = null;
  #unwritten: FinishedStep | null = null;

  private constructor(
    private readonly job: TrainJob,
    private readonly plan: Plan,
    readonly policy: Policy,
  ) {
    this.#meter = new ProgressMeter(plan.steps, job.onProgress);
    this.#health = new Health(job.store.stepMetrics(1));
    this.#saved = policy.step;
  }

  static async open(job: TrainJob): Promise<Training> {
    const { store } = job;
    const before = store.lastStep();
    const plan = planOf(job);
    const policy = await openPolicy(job);
    store.rewindTo(policy.step);
    for (const step of policy.passed) {
      store.addEvent({
        step: policy.step,
        level: 'warning',
        code: 'checkpoint_damaged',
        message: `The checkpoint of step ${step} is damaged; an earlier one is used.`,
      });
    }
    if (before > 0) {
      store.addEvent({
        step: policy.step,
        level: 'info',
        code: 'resumed',
        message: `Resumed after step ${policy.step}.`,
      });
    }
    return new Training(job, plan, policy);
  }

  async run(): Promise<Outcome> {
    this.job.store.setStatus('running');
    for (;;) {
      try {
        const ended = this.job.control.wish === 'run' ? await this.#work() : await this.#obey();
        if (ended) return ended;
      } catch (error) {
        if (!(error instanceof Interrupted)) throw error;
      }
    }
  }

  async #work(): Promise<Outcome> {
    const { job, plan, policy } = this;
    await this.#write();
    await this.#heldOut(0);
    while (policy.step < plan.steps) await this.#step(policy.step + 1);
    await this.#checkpoint();
    await this.#heldOut(plan.steps);
    this.#meter.phase('finishing', plan.steps, 0, 1);
    await proveSaved(job, policy);
    job.store.setStatus('completed');
    return 'completed';
  }

  /** What is wanted instead of running; null: to run on. */
  async #obey(): Promise<Outcome | null> {
    const { job, policy } = this;
    if (job.control.wish === 'close') return 'closed';
    if (job.control.wish === 'stop') {
      job.store.setStatus('stopping');
      if (policy.step > 0) await this.#checkpoint();
      job.store.setStatus(
        'stopped',
        policy.step > 0
          ? `Stopped after step ${policy.step}; what was learnt is saved.`
          : 'Stopped before the first step.',
      );
      return 'stopped';
    }
    if (job.control.wish === 'pause') {
      if (policy.step > this.#saved) await this.#checkpoint();
      await this.#pause();
    }
    return null;
  }

  /** Waits, paused, until something else is wanted. `until`: what may end the pause by itself. */
  async #pause(message?: string, until?: () => Promise<boolean>): Promise<void> {
    const { control, store } = this.job;
    store.setStatus('paused', message);
    while (control.wish === 'pause') {
      await control.changed(until ? ROOM_POLL_MS : undefined);
      if (control.wish === 'pause' && until && (await until())) control.want('run');
    }
    if (control.wish === 'run') store.setStatus('running');
  }

  async #heldOut(step: number): Promise<void> {
    const { job, plan } = this;
    if (job.data.heldOut.length === 0 || job.store.evaluations().some((e) => e.step === step)) return;
    const metrics = await interruptible(job.control, (signal) =>
      evaluate(job, plan.needs, this.policy.adapter, step, this.#meter, signal),
    );
    await this.#withRoom(() => job.store.addEvaluation(step, metrics));
  }

  async #step(step: number): Promise<void> {
    const { job, plan, policy } = this;
    const start = performance.now();
    await job.engine.resetPeak();
    const gathered = await interruptible(job.control, (signal) => this.#gather(step, signal));
    const learnt = await learn(
      job,
      plan.needs,
      plan.program,
      policy.optimizer,
      step,
      plan.steps,
      gathered.rows,
      this.#meter,
    );
    const seconds = (performance.now() - start) / 1000;
    const metrics: Record<string, number> = {
      ...gathered.metrics,
      ...learnt.metrics,
      'perf/step_seconds': seconds,
    };
    const findings = this.#examine(step, gathered, metrics, learnt.first, learnt.refused);
    policy.step = step;
    this.#unwritten = {
      step,
      metrics,
      groups: gathered.groups,
      rollouts: gathered.rollouts,
      events: findings.map(({ event }) => event),
    };
    await this.#write();
    this.#reward = metrics['reward/mean'] ?? null;
    this.#meter.stepTook(
      seconds,
      metrics['perf/rollout_tokens_per_s'] ?? metrics['perf/train_tokens_per_s'] ?? NaN,
    );
    const stop = findings.find(({ act }) => act === 'stop');
    if (stop) throw new AtelierError('invalid_data', stop.event.message, stop.event.hint);
    if (step % job.config.checkpointEvery === 0) await this.#checkpoint();
    const pause = findings.find(({ act }) => act === 'pause');
    if (pause && job.control.wish === 'run') {
      job.control.want('pause');
      await this.#pause(pause.event.message);
      if (job.control.wish !== 'run') throw new Interrupted();
    }
  }

  #gather(step: number, signal: AbortSignal): Promise<Gathered> {
    const { job, plan, policy } = this;
    const chosen = plan.order.step(step).map((k) => job.data.rows[k]!);
    if (job.data.kind === 'examples') return Promise.resolve(gatherExamples(chosen as ExampleRow[]));
    return gatherRollouts(job, plan.needs, policy.adapter, step, chosen as PromptRow[], this.#meter, signal);
  }

  #examine(
    step: number,
    gathered: Gathered,
    metrics: Record<string, number>,
    first: Record<string, number>,
    refused: number,
  ): Finding[] {
    const mismatch = first['policy/sampler_mismatch'];
    return [
      ...(gathered.rollouts.length > 0
        ? [this.#health.rewards(step, gathered.failed, gathered.total, gathered.alive, gathered.firstFailure)]
        : []),
      ...Array.from({ length: refused }, () => this.#health.nonFinite(step)),
      ...this.#health.observe(step, {
        ...metrics,
        ...(mismatch === undefined ? {} : { 'policy/sampler_mismatch': mismatch }),
      }),
    ].filter((finding) => finding !== null);
  }

  /** A step that was learnt is kept until its row is written, whatever is wanted meanwhile. */
  async #write(): Promise<void> {
    await this.#withRoom(() => {
      if (this.#unwritten) this.job.store.addStep(this.#unwritten);
      this.#unwritten = null;
    });
  }

  async #checkpoint(): Promise<void> {
    const { job, policy } = this;
    await this.#write();
    if (policy.step <= this.#saved) return;
    this.#meter.phase('checkpoint', policy.step, 0, 1);
    await this.#withRoom(() => saveCheckpoint(job, policy, this.#reward));
    this.#saved = policy.step;
    this.#meter.phase('checkpoint', policy.step, 1, 1);
  }

  /** A full disk pauses the run until there is room or its person decides; then the same write is tried again. */
  async #withRoom(write: () => void | Promise<void>): Promise<void> {
    const { job, policy } = this;
    for (let attempt = 0; ; attempt++) {
      try {
        await write();
        return;
      } catch (error) {
        if (!isDiskFull(error)) throw error;
        const message = `The disk is full: ${(error as Error).message}`;
        if (attempt === 0)
          noteIfPossible(() =>
            job.store.addEvent({
              step: policy.step,
              level: 'error',
              code: 'disk_full',
              message,
              hint: 'Free some space. The run goes on by itself; the previous checkpoint is kept.',
            }),
          );
        if (job.control.wish === 'stop') {
          throw new AtelierError('disk_full', message, 'The previous checkpoint is kept.');
        }
        if (job.control.wish === 'run') job.control.want('pause');
        await this.#pause(message, async () => (await files.freeBytes(job.folder)) > ROOM_BYTES);
        if (job.control.wish !== 'run') throw new Interrupted();
      }
    }
  }
}

/** On a full disk the note of it may not fit either; the status tells it then. */
function noteIfPossible(note: () => void): void {
  try {
    note();
  } catch (error) {
    if (!isDiskFull(error)) throw error;
  }
}
