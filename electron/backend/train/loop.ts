import { learningRateOf } from '../../../shared/algorithms';
import { AtelierError } from '../../../shared/rpc';
import type { RowList } from '../datasets';
import type { FinishedStep } from '../store';
import { evaluate } from './evaluate';
import { gatherPairs, gatherRated } from './gather-rated';
import type { Gathered } from './gathered';
import { gatherRollouts } from './gather-rollouts';
import { Health, heldOutFinding, type Finding } from './health';
import { Interrupted, interruptible } from './interrupt';
import type { TrainJob } from './job';
import { learn, nothingLearnt, type Learnt, type Trained } from './learn';
import type { TrainRow } from './batch';
import { gatherExamples } from './gather-examples';
import { planOf, type Plan } from './plan';
import {
  checkCheckpointRoom,
  closePolicy,
  openPolicy,
  optimizerOf,
  proveSaved,
  saveCheckpoint,
  type Policy,
} from './policy';
import { ProgressMeter } from './progress';
import { withRoom } from './room';
import { timed, type TimedJob } from './timeline';

export type Outcome = 'completed' | 'stopped' | 'closed';

/** How often a run that waits for disk space looks whether there is some. */
const ROOM_POLL_MS = 5_000;
/** Updates after which every module of the adapter must have moved. */
const MOVING_UPDATES = 3;

/**
 * Trains a run from where it stands to its end, its stop or the backend's close; writes every status but a
 * failure's, which it throws.
 */
export async function train(job: TrainJob): Promise<Outcome> {
  const training = await Training.open(timed(job));
  try {
    return await training.run();
  } finally {
    training.keepRow();
    await closePolicy(job, training.policy).catch(() => undefined);
  }
}

class Training {
  readonly #meter: ProgressMeter;
  readonly #health: Health;
  /** Steps of the newest checkpoint. */
  #saved: number;
  #reward: number | null = null;
  /** A step that was learnt, until its row is written. `stop`: it ends the run. */
  #unwritten: { row: FinishedStep; stop: Finding | undefined } | null = null;
  #moves = 0;

  private constructor(
    private readonly job: TimedJob,
    private readonly plan: Plan,
    readonly policy: Policy,
    held: number | null,
  ) {
    this.#meter = new ProgressMeter(plan.steps, job.onProgress);
    this.#health = new Health(
      Health.past(policy.step).flatMap((step) => {
        const metrics = job.store.stepMetrics(step);
        return metrics ? [{ step, metrics }] : [];
      }),
    );
    if (held !== null) this.#health.held(held);
    this.#saved = policy.step;
  }

  static async open(job: TimedJob): Promise<Training> {
    const { store } = job;
    const before = store.lastStep();
    const held = store.heldStep();
    const plan = await planOf(job);
    const policy = await openPolicy(job, plan.needs);
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
    return new Training(job, plan, policy, held);
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
    if (policy.step === 0 && job.store.evaluations().length === 0) job.clock.begin(0);
    // said now, not after an hour's work
    if (policy.step === 0) await this.#withRoom(() => checkCheckpointRoom(job, policy));
    await this.#heldOut(0);
    while (policy.step < plan.steps) await this.#step(policy.step + 1);
    await this.#checkpoint();
    await this.#heldOut(plan.steps);
    this.#meter.phase('finishing', plan.steps, 0, 1);
    await job.clock.during('proof', () => proveSaved(job, policy));
    job.clock.end(plan.steps);
    await this.#write();
    job.store.setStatus('completed');
    return 'completed';
  }

  /** What is wanted instead of running; null: to run on. */
  async #obey(): Promise<Outcome | null> {
    const { job, policy } = this;
    // what is waited for from here on is no step's
    job.clock.end(policy.step);
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
    const earlier = job.store.evaluations();
    if (job.data.heldOut.length === 0 || earlier.some((e) => e.step === step)) return;
    const metrics = await job.clock.evaluating(() =>
      interruptible(job.control, (signal) =>
        evaluate(job, plan.needs, this.policy, step, this.#meter, signal),
      ),
    );
    await this.#withRoom(() => job.store.addEvaluation(step, metrics));
    const before = earlier.find((e) => e.step === 0);
    const finding = before && heldOutFinding(step, before.metrics, metrics);
    if (finding) await this.#withRoom(() => job.store.addEvent(finding));
  }

  async #step(step: number): Promise<void> {
    const { job, policy } = this;
    const start = performance.now();
    job.clock.begin(step);
    await job.engine.resetPeak();
    const gathered = await this.#writeDuring((stop) =>
      interruptible(job.control, (signal) => this.#gather(step, AbortSignal.any([signal, stop]))),
    );
    const rewards = this.#health.rewards(step, gathered);
    const pause = rewards.find(({ act }) => act === 'pause');
    if (pause) return this.#holdBack(step, gathered, rewards, pause);
    const { learnt, critic } = await this.#learn(step, gathered.rows);
    const seconds = (performance.now() - start) / 1000;
    const { peakBytes } = await job.engine.stats();
    const metrics: Record<string, number> = {
      ...gathered.metrics,
      ...learnt.metrics,
      ...critic,
      'perf/step_seconds': seconds,
      'perf/peak_bytes': peakBytes,
    };
    const findings = [...rewards, ...(await this.#examine(step, gathered, metrics, learnt))];
    policy.step = step;
    this.#unwritten = {
      row: {
        step,
        metrics,
        groups: gathered.groups,
        rollouts: gathered.rollouts,
        events: findings.map(({ event }) => event),
      },
      stop: findings.find(({ act }) => act === 'stop'),
    };
    // else it is written while the engine works on the next step
    if (this.#unwritten.stop) await this.#write();
    this.#reward = metrics['reward/mean'] ?? null;
    this.#meter.stepTook(
      seconds,
      metrics['perf/rollout_tokens_per_s'] ?? metrics['perf/train_tokens_per_s'] ?? NaN,
    );
    if (step % job.config.checkpointEvery === 0) await this.#checkpoint();
  }

  /** The critic first: so it is a little ahead of the policy that it advises. In its warm-up it learns alone. */
  async #learn(step: number, rows: TrainRow[]): Promise<{ learnt: Learnt; critic: Record<string, number> }> {
    const { job, policy, plan } = this;
    const { needs, steps, program } = plan;
    const update = (trained: Trained) => learn(job, needs, trained, step, steps, rows, this.#meter);
    const critic: Record<string, number> = {};
    let refused = 0;
    if (needs.critic && plan.critic && policy.critic) {
      const { learningRate } = needs.critic;
      const optimizer = optimizerOf(policy.critic);
      const own = await update({ program: plan.critic, optimizer, learningRate });
      for (const [key, value] of Object.entries(own.metrics)) {
        if (key.startsWith('critic/')) critic[key] = value;
        else if (key === 'train/loss' || key === 'train/grad_norm')
          critic[key.replace('train', 'critic')] = value;
      }
      refused = own.refused;
      if (step <= needs.critic.warmupSteps) {
        return { learnt: { ...nothingLearnt(rows), refused }, critic };
      }
    }
    const optimizer = optimizerOf(policy);
    const learnt = await update({ program, optimizer, learningRate: learningRateOf(job.params) });
    return { learnt: { ...learnt, refused: learnt.refused + refused }, critic };
  }

  /** Asks before a step is learnt whose rewards are in doubt. Its answers can be read meanwhile; it comes again. */
  async #holdBack(step: number, gathered: Gathered, found: Finding[], pause: Finding): Promise<never> {
    const { job, policy } = this;
    const saved =
      policy.step === 0
        ? `Step ${step} was not learnt.`
        : `Step ${step} was not learnt; what was learnt until step ${policy.step} is saved.`;
    const event = {
      ...pause.event,
      message: `${pause.event.message} ${saved}`,
      hint: [
        pause.event.hint,
        'Resume to try the step once more; what fails again is left out, and the run goes on.',
        ...(job.rewards.length > 0 ? ['To correct the reward, stop and start a new run with it.'] : []),
      ].join(' '),
    };
    await this.#withRoom(() =>
      job.store.addAttempt({
        step,
        groups: gathered.groups,
        rollouts: gathered.rollouts,
        events: found.map((finding) => (finding === pause ? event : finding.event)),
      }),
    );
    await this.#checkpoint();
    if (job.control.wish === 'run') {
      job.control.want('pause');
      await this.#pause(`${event.message} ${event.hint}`);
      this.#health.held(step);
    }
    throw new Interrupted();
  }

  #gather(step: number, signal: AbortSignal): Promise<Gathered> {
    const { job, plan, policy } = this;
    const { data } = job;
    if (data.kind === 'rollouts') return gatherRollouts(job, plan, policy, step, this.#meter, signal);
    const chosen = plan.order.step(step);
    const pick = <Row>(rows: RowList<Row>): Row[] => chosen.map((k) => rows.at(k)!);
    if (data.kind === 'pairs') return gatherPairs(job, plan, policy, pick(data.rows), signal);
    if (data.kind === 'rated') return gatherRated(job, plan, policy, pick(data.rows), signal);
    return gatherExamples(job, plan, policy.weights, step, pick(data.rows), this.#meter, signal);
  }

  async #examine(
    step: number,
    gathered: Gathered,
    metrics: Record<string, number>,
    { first, refused, moves }: Learnt,
  ): Promise<Finding[]> {
    const before = this.#moves;
    this.#moves += moves;
    const due = before < MOVING_UPDATES && this.#moves >= MOVING_UPDATES;
    return this.#health.observe(step, {
      metrics: { ...metrics, ...onlyFirst(first) },
      rewards: gathered.rollouts.flatMap(({ reward }) => (reward === null ? [] : [reward])),
      refused,
      still: due ? await this.policy.subject.still() : null,
    });
  }

  /** Writes the step before while the engine already works for this one: `gather` asks it before it waits for anything. */
  async #writeDuring<T>(gather: (stop: AbortSignal) => Promise<T>): Promise<T> {
    const stop = new AbortController();
    const gathering = gather(stop.signal);
    // looked at below, once the row is written
    gathering.catch(() => undefined);
    try {
      await this.#write();
    } catch (error) {
      stop.abort();
      await gathering.catch(() => undefined);
      throw error;
    }
    return gathering;
  }

  /** A step that was learnt is kept until its row is written, whatever is wanted meanwhile. */
  async #write(): Promise<void> {
    const { store, clock } = this.job;
    const { ended } = clock;
    const learnt = this.#unwritten;
    const write = () =>
      this.#withRoom(() => {
        if (learnt && learnt === this.#unwritten) store.addStep(learnt.row);
        this.#unwritten = null;
        store.addTimelines(ended);
      });
    await (learnt ? clock.during('store', write) : write());
    clock.taken(ended.length);
    const stop = learnt?.stop;
    if (stop) {
      const { code, message, hint } = stop.event;
      throw new AtelierError('invalid_data', message, hint, { event: code });
    }
  }

  /** At the end, whatever it was: the row of a step that was learnt. What ended the run is told, not this. */
  keepRow(): void {
    const learnt = this.#unwritten;
    this.#unwritten = null;
    try {
      if (learnt) this.job.store.addStep(learnt.row);
    } catch {
      // the disk is full, say
    }
  }

  async #checkpoint(): Promise<void> {
    const { job, policy } = this;
    await this.#write();
    if (policy.step <= this.#saved) return;
    this.#meter.phase('checkpoint', policy.step, 0, 1);
    await job.clock.during('checkpoint', () =>
      this.#withRoom(() => saveCheckpoint(job, policy, this.#reward)),
    );
    this.#saved = policy.step;
    this.#meter.phase('checkpoint', policy.step, 1, 1);
  }

  #withRoom(write: () => void | Promise<void>): Promise<void> {
    return withRoom(this.job, this.policy.step, write, (message, until) => this.#pause(message, until));
  }
}

/** Later updates of a step are not made by the policy that sampled: these compare with the sampler. */
function onlyFirst(first: Record<string, number>): Record<string, number> {
  const keys = ['policy/sampler_mismatch', 'policy/off_sampler'];
  return Object.fromEntries(keys.flatMap((key) => (first[key] === undefined ? [] : [[key, first[key]]])));
}
