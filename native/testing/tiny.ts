/** The real engine on the fixtures' smallest models, for tests. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { engineModule } from '../index';
import type {
  AdapterId,
  Engine,
  EngineError,
  EngineOptions,
  ModelId,
  OptimizerId,
  Rows,
  StepRequest,
} from '../index';
import type { Spawned } from '../../electron/supervise/host-spawn';
import { nodeSpawn } from '../../electron/supervise/node-spawn';
import { sftLoss } from '../../shared/algorithms/sft';

const fixtures = fileURLToPath(new URL('../../conformance/fixtures', import.meta.url));
export const tinyModel = join(fixtures, 'models/qwen3_tied');

export const cpuEngine = (): Engine => engineModule('cpu').createEngine({ device: 'cpu' });

/** The same over several processes, and what they are. */
export async function cpuRanks(
  count: number,
  onEnd: (error: EngineError) => void = () => undefined,
  more: Partial<EngineOptions> = {},
) {
  const processes: Spawned[] = [];
  const engine = await engineModule('cpu').createRanks({
    ...more,
    device: 'cpu',
    devices: Array.from({ length: count }, (_, rank) => rank),
    spawn: async () => {
      const process = await nodeSpawn('rank');
      processes.push(process);
      return process;
    },
    onEnd,
  });
  return { engine, processes };
}

export function temporaryFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'atelier-engine-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Rows of the given lengths with ids that only depend on row and position. */
export function rowsOf(lengths: number[]): number[][] {
  return lengths.map((n, row) =>
    Array.from({ length: n }, (_, t) => (31 * row + 17 * t + row * t * 7) % 500),
  );
}

export function pack(rows: number[][]): Rows {
  return { ids: Int32Array.from(rows.flat()), lengths: Int32Array.from(rows.map((r) => r.length)) };
}

/** 1 for each target from the `from`-th of its row on. */
export function maskFrom(rows: number[][], from: number): Float32Array {
  return Float32Array.from(rows.flatMap((row) => row.slice(1).map((_, t) => (t >= from ? 1 : 0))));
}

export const adamw = { kind: 'adamw', beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01 } as const;

interface Lora {
  model: ModelId;
  adapter: AdapterId;
  optimizer: OptimizerId;
}

/** An adapter on all linear modules and its optimiser. */
export async function newLora(
  engine: Engine,
  model: ModelId,
  spec: { seed?: number; epsilon?: number } = {},
) {
  const { id } = await engine.createAdapter(model, {
    rank: 4,
    alpha: 8,
    targetModules: 'all-linear',
    seed: spec.seed ?? 1,
  });
  const optimizer = await engine.createOptimizer(
    { kind: 'adapter', adapter: id },
    { ...adamw, epsilon: spec.epsilon ?? adamw.epsilon },
  );
  return { model, adapter: id, optimizer } satisfies Lora;
}

/** A supervised step on all rows; targets from the third of each row on are learnt. */
export function sftStep(
  optimizer: OptimizerId,
  rows: number[][],
  more: Partial<StepRequest> = {},
): StepRequest {
  const loss = maskFrom(rows, 2);
  return {
    optimizer,
    rows: pack(rows),
    program: JSON.stringify(sftLoss()),
    inputs: { loss },
    temperature: 1,
    learningRate: 1e-3,
    maxGradNorm: null,
    microTokens: 4096,
    ...more,
  };
}
