// The thread that runs users' reward code. It may be ended at any moment.
import { parentPort } from 'node:worker_threads';
import type { Task } from './protocol';
import { Sandbox } from './sandbox';

const sandbox = new Sandbox();
let last: Promise<void> = Promise.resolve();

parentPort?.on('message', (task: Task) => {
  // What fails on this side ends the thread: the host starts another.
  last = last.then(() => sandbox.run(task, (message) => parentPort?.postMessage(message)));
});
