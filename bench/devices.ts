// A GRPO step on several devices beside one: that they make the same, and how much sooner they are done.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { HostSpawn, Spawned } from '../electron/supervise/host-spawn';
import { nodeSpawn } from '../electron/supervise/node-spawn';
import {
  engineModule,
  type AdapterId,
  type Device,
  type Engine,
  type GenerateResult,
  type ModelId,
  type StepResult,
} from '../native';
import { adamw, complete, timed, updateBy } from './grpo-work';

/** Times as soon as one device at least, by how many there are; on the CPU they share their threads, so there is none. */
const LEAST: Record<number, number> = { 2: 1.9, 4: 3.6 };
/** Of a loss and a gradient norm, relative; of log-probabilities after the updates, nats on average. In bf16 rounding goes by the batch. */
const TOLERANCE = { cpu: { step: 1e-5, logp: 1e-4 }, gpu: { step: 2e-2, logp: 1e-2 } };
const UPDATES = 3;

interface Shape {
  config: object;
  prompts: number;
  promptTokens: number;
  group: number;
  newTokens: number;
}
const qwen3 = { model_type: 'qwen3', tie_word_embeddings: true, initializer_range: 0.05 };
const SHAPES: Record<'gpu' | 'cpu', Shape> = {
  // Qwen3-0.6B's, with random weights
  gpu: {
    config: {
      ...qwen3,
      // as trained models are about: with more, bf16's rounding alone moves log-probabilities by hundredths
      initializer_range: 0.02,
      vocab_size: 151_936,
      hidden_size: 1024,
      intermediate_size: 3072,
      num_hidden_layers: 28,
      num_attention_heads: 16,
      num_key_value_heads: 8,
      head_dim: 128,
      max_position_embeddings: 4096,
      rope_theta: 1e6,
    },
    prompts: 32,
    promptTokens: 128,
    group: 8,
    newTokens: 256,
  },
  cpu: {
    config: {
      ...qwen3,
      vocab_size: 512,
      hidden_size: 160,
      intermediate_size: 448,
      num_hidden_layers: 4,
      num_attention_heads: 5,
      num_key_value_heads: 5,
      head_dim: 32,
      max_position_embeddings: 1024,
    },
    prompts: 8,
    promptTokens: 16,
    group: 4,
    newTokens: 32,
  },
};

interface Side {
  engine: Engine;
  model: ModelId;
  adapter: AdapterId;
  processes: Spawned[];
}

async function open(device: Device, devices: number[], { config }: Shape): Promise<Side> {
  const processes: Spawned[] = [];
  const spawn = async (kind: Parameters<HostSpawn>[0]) => {
    const process = await nodeSpawn(kind);
    processes.push(process);
    return process;
  };
  const engine = await engineModule(device).createRanks({
    device,
    devices,
    spawn: () => spawn('rank'),
    onEnd: (error) => {
      throw error;
    },
  });
  const { id: model } = await engine.initModel(JSON.stringify(config), { seed: 1 });
  const lora = { rank: 16, alpha: 32, targetModules: 'all-linear', seed: 1 };
  const { id: adapter } = await engine.createAdapter(model, lora);
  return { engine, model, adapter, processes };
}

/** How many processes hold the adapter with the same bits as the first. */
async function alike({ engine, adapter, processes }: Side): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'atelier-devices-'));
  const files = processes.map((_, rank) => join(folder, `${rank}.safetensors`));
  processes.forEach(({ port }, rank) => {
    // the engine itself asks the first alone to write
    const args = [adapter, files[rank]];
    void port.post({ type: 'call', job: 1e9, verb: 'saveAdapter', args, progress: false });
  });
  await engine.clearCache();
  const [first, ...others] = files.map((file) => readFileSync(file));
  rmSync(folder, { recursive: true });
  return 1 + others.filter((other) => other.equals(first!)).length;
}

async function measure(side: Side, shape: Shape, answers: GenerateResult | null) {
  const { engine, model, adapter } = side;
  const prompts = Array.from({ length: shape.prompts }, (_, p) =>
    Int32Array.from({ length: shape.promptTokens }, (__, t) => 3 + ((p * 61 + t * 17) % 500)),
  );
  const roll = () => complete(engine, model, adapter, prompts, shape.group, shape.newTokens);
  const own = await roll();
  const { rows } = answers ?? own;
  const { batch, update } = updateBy(engine, await adamw(engine, adapter), prompts, rows);
  const steps: StepResult[] = [];
  for (let k = 0; k < UPDATES; k++) steps.push(await update());
  const { logp } = await engine.score({ model, adapter, rows: batch });
  const same = await alike(side);
  const rollout = await timed(roll);
  const training = await timed(update);
  const { peakBytes } = await engine.stats();
  await engine.close();
  return { own, steps, logp, same, rollout, training, step: rollout + training, peakBytes };
}

export async function benchDevices(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      device: { type: 'string', default: process.env['ATELIER_DEVICE'] ?? 'cpu' },
      devices: { type: 'string', default: '0,1' },
      json: { type: 'boolean', default: false },
    },
  });
  const device = values.device as Device;
  const devices = values.devices.split(',').map(Number);
  const kind = device === 'cpu' ? 'cpu' : 'gpu';
  const shape = SHAPES[kind];
  const one = await measure(await open(device, devices.slice(0, 1), shape), shape, null);
  const all = await measure(await open(device, devices, shape), shape, one.own);

  const mean = (xs: number[]) => xs.reduce((sum, x) => sum + x, 0) / xs.length;
  const apart = (of: (step: StepResult) => number) =>
    Math.max(...one.steps.map((step, k) => Math.abs(of(all.steps[k]!) / of(step) - 1)));
  const sameAnswers = one.own.rows.filter(
    (row, k) => String(row.ids) === String(all.own.rows[k]!.ids),
  ).length;
  const found = {
    devices: values.devices,
    /** Of all; in bf16 a batch of another size rounds otherwise. */
    sameAnswers: `${sameAnswers} of ${one.own.rows.length}`,
    lossApart: apart(({ loss }) => 1 + loss),
    gradNormApart: apart(({ gradNorm }) => gradNorm),
    logpApart: mean([...one.logp].map((x, t) => Math.abs(x - all.logp[t]!))),
    adaptersAlike: `${all.same} of ${devices.length}`,
    seconds: Object.fromEntries(
      (['rollout', 'training', 'step'] as const).map((what) => [what, [one[what], all[what]]]),
    ),
    sooner: Object.fromEntries(
      (['rollout', 'training', 'step'] as const).map((what) => [what, one[what] / all[what]]),
    ),
    peakGB: [one.peakBytes / 1e9, all.peakBytes / 1e9],
  };
  console.log(JSON.stringify(found, null, values.json ? 0 : 2));
  const limits = TOLERANCE[kind];
  const right =
    all.same === devices.length &&
    found.lossApart <= limits.step &&
    found.gradNormApart <= limits.step &&
    found.logpApart <= limits.logp &&
    (kind === 'gpu' || sameAnswers === one.own.rows.length);
  const least =
    kind === 'gpu' && new Set(devices).size === devices.length ? LEAST[devices.length] : undefined;
  const soon = least === undefined || found.sooner['step']! >= least;
  if (!right) console.error('The devices did not make what one makes.');
  if (!soon) console.error(`A step is to be done ${least} times as soon.`);
  return right && soon ? 0 : 1;
}
