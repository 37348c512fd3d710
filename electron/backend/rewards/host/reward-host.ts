// The reward host's process: keeps a worker thread, gives it one task at a time, ends it when it overruns.
import { Worker } from 'node:worker_threads';
import { childPort } from '../../../supervise/child-port';
import { entryFile } from '../../../supervise/entry-file';
import { batchLimit, processorTime, type HostMessage, type Task, type WorkerMessage } from './protocol';

/** Past its own deadline the sandbox has this long to stop by itself. */
const grace = 1000;
/** A call that gets no processor time is waited for this long. */
const patience = 60_000;
/** Time to start a thread and load WebAssembly on a busy machine. */
const startLimit = 20_000;

class Host {
  #worker: Worker | null = null;
  #task: Task | null = null;
  #watchdog: NodeJS.Timeout | undefined;

  constructor(private readonly post: (message: HostMessage) => void) {}

  run(task: Task): void {
    this.#task = task;
    this.#worker ??= this.#start();
    this.#worker.postMessage(task);
    this.#watch(startLimit);
  }

  #start(): Worker {
    const worker = new Worker(entryFile('backend/reward-worker'), {
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 512, stackSizeMb: 4 },
    });
    worker.on('message', (message: WorkerMessage) => this.#heard(message));
    worker.on('error', (error) => this.#broke(worker, error.message));
    worker.on('exit', () => this.#broke(worker, 'its thread ended'));
    return worker;
  }

  #heard(message: WorkerMessage): void {
    const task = this.#task;
    if (!task || message.id !== task.id) return;
    if (message.kind === 'done') {
      clearTimeout(this.#watchdog);
      this.#task = null;
    } else {
      const job = task.kind === 'job' && message.kind === 'batch';
      this.#watch(job ? batchLimit(task.limit, task.count) : task.limit);
    }
    this.post(message);
  }

  #watch(limit: number): void {
    clearTimeout(this.#watchdog);
    const processorEnd = processorTime() + limit;
    const last = performance.now() + limit + patience;
    const check = () => {
      if (processorTime() < processorEnd && performance.now() < last) {
        if (this.#task) this.post({ kind: 'alive', id: this.#task.id });
        this.#watchdog = setTimeout(check, grace);
        return;
      }
      const worker = this.#worker;
      this.#worker = null;
      void worker?.terminate();
      this.#stopped('timeout', 'it did not finish in time');
    };
    this.#watchdog = setTimeout(check, limit + grace);
  }

  #broke(worker: Worker, message: string): void {
    if (worker !== this.#worker) return;
    this.#worker = null;
    void worker.terminate();
    this.#stopped('crashed', message);
  }

  #stopped(reason: 'timeout' | 'crashed', message: string): void {
    clearTimeout(this.#watchdog);
    const task = this.#task;
    this.#task = null;
    if (task) this.post({ kind: 'stopped', id: task.id, reason, message });
  }
}

process.env['TZ'] = 'UTC';
const parent = childPort();
const host = new Host((message) => void parent.post(message));
parent.onMessage((message) => host.run(message as Task));
parent.onClose(() => process.exit(0));
void parent.post({ kind: 'ready' } satisfies HostMessage);
