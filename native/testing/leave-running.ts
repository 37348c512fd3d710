/** Starts work on the engine and leaves while it runs: as a process it exits, as a thread it is terminated. */
import { isMainThread, parentPort } from 'node:worker_threads';
import { cpuEngine, tinyModel } from './tiny';

const engine = cpuEngine();
const { id } = await engine.loadModel(tinyModel);
void engine.generate(
  {
    model: id,
    adapter: null,
    prompts: Array.from({ length: 64 }, () => Int32Array.of(1, 2, 3)),
    samplesPerPrompt: 8,
    maxNewTokens: 250,
    temperature: 1,
    stopIds: new Int32Array(),
    seed: 1,
  },
  {
    onProgress: () => {
      if (isMainThread) process.exit(7);
      parentPort!.postMessage('running');
    },
  },
);
