import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { entryFile } from '../../supervise/entry-file';
import type { CodeMistake } from '../rewards';

/** A check that takes longer is given up: TypeScript itself may be led astray. */
const LIMIT = 60_000;

/** A packaged app has the algorithms to be read, but not what their types rest on. */
const NEEDED = [
  'shared/algorithms/algorithm.ts',
  'shared/program/index.ts',
  'node_modules/zod/package.json',
  'node_modules/typescript/lib/lib.es2023.d.ts',
];

/** Mistakes of type, as if the file lay in shared/algorithms; null where the app has no sources to check against. */
export function checkTypes(root: string, code: string): Promise<CodeMistake[] | null> {
  if (!NEEDED.every((path) => existsSync(join(root, path)))) return Promise.resolve(null);
  // a thread: the compiler takes seconds, and the backend has a run to serve
  const worker = new Worker(entryFile('backend/type-check'), {
    env: {},
    workerData: { root, code },
    resourceLimits: { maxOldGenerationSizeMb: 1024 },
  });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      void worker.terminate();
      resolve([{ line: 1, column: 1, message: `its types were not checked within ${LIMIT / 1000} s` }]);
    }, LIMIT);
    worker.once('message', (mistakes: CodeMistake[]) => resolve(mistakes));
    worker.once('error', reject);
    worker.once('exit', () => {
      clearTimeout(timer);
      resolve([{ line: 1, column: 1, message: 'its types could not be checked: the compiler ended early' }]);
    });
  });
}
