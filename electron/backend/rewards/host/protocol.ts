// Between the backend and the reward host's process, and between that process and its worker thread.

/** One batch: the function is called once a sample, or once in all where it says `export const batch = true`. */
export interface Job {
  kind: 'job';
  id: number;
  /** JavaScript, types already blanked out. */
  code: string;
  /** A JSON array with one record a sample. */
  samples: string;
  /** A JSON object: the function's second argument. */
  params: string;
  count: number;
  seed: number;
  step: number;
  /** [count] place of each sample in the step; with seed and step it seeds Math.random. */
  indices: number[];
  /** Milliseconds that one call may take: of the clock and of the processor, so that a busy machine is no fault. */
  limit: number;
}

/** Evaluates the module without calling it: is there a function to call? */
export interface Inspection {
  kind: 'inspect';
  id: number;
  code: string;
  limit: number;
}

/** One call of an algorithm's function. `args`, and what comes back, are JSON. */
export interface Call {
  kind: 'call';
  id: number;
  /** JavaScript, types already blanked out. */
  code: string;
  name: 'describe' | 'settle' | 'steps' | 'advantages';
  args: string;
  limit: number;
}

export type Task = Job | Inspection | Call;

export type SampleStatus = 'ok' | 'abstain' | 'error' | 'timeout' | 'nonfinite' | 'wrong_type';

export interface Mistake {
  message: string;
  /** 1-based, in the user's code; absent where it is not known. */
  line?: number;
  column?: number;
}

/** Sent as soon as a sample is done, in order; a batch function's samples all at its end. */
export interface SampleDone {
  kind: 'sample';
  id: number;
  status: SampleStatus;
  value: number;
  mistake?: Mistake;
  milliseconds: number;
}

export interface TaskDone {
  kind: 'done';
  id: number;
  /** Of an inspection: what is wrong with the module, and its `params` as JSON. */
  mistake?: Mistake;
  params?: string;
  /** Of a call. */
  result?: string;
  batch: boolean;
}

/** `started`: the sandbox is there, the code's own time counts. `loaded`: its module is, now the calls come. */
export interface Stage {
  kind: 'started' | 'loaded';
  id: number;
}

/** Sent before a batch function is called: what stops it stops all its samples. */
export interface BatchStarts {
  kind: 'batch';
  id: number;
}

/** The worker thread was ended: it overran its limit, or broke. */
export interface Stopped {
  kind: 'stopped';
  id: number;
  reason: 'timeout' | 'crashed';
  message: string;
}

export type WorkerMessage = Stage | SampleDone | TaskDone | BatchStarts;
/** The call is over its time by the clock, but the processor was elsewhere: it is given more. */
export interface Alive {
  kind: 'alive';
  id: number;
}

export type HostMessage = WorkerMessage | Stopped | Alive | { kind: 'ready' };

/** Milliseconds that this process, whose work is all the sandbox's, had of the processor. */
export function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** A batch function has its samples' time together, but no more than this. */
export const batchLimit = (limit: number, count: number) => Math.min(limit * count, Math.max(limit, 60_000));
