// An adapter with ranks and alphas by module, from a configuration to its files, with the real engine.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ExportProgress, RunConfigInput } from '../../shared/contract/runs';
import { openLocal, type Local } from './local';
import { follow, shortRun, temporaryHome } from './testing';

let home: string;
let local: Local;
beforeAll(async () => {
  home = temporaryHome();
  local = await openLocal({ home, device: 'cpu' });
}, 120_000);
afterAll(async () => {
  await local.close();
  rmSync(home, { recursive: true });
});

const down = String.raw`layers\.0\.mlp\.down_proj`;
const patterns = { loraRanks: `q_proj: 2, ${down}: 24`, loraAlphas: 'v_proj: 8' };
const config = (more: Record<string, unknown>): RunConfigInput =>
  shortRun({
    algorithm: 'ppo',
    params: { steps: 2, prompts: 4, groupSize: 2, maxNewTokens: 48, learningRate: 1e-3, ...more },
    checkpointEvery: 1,
  });

const read = (folder: string, name: string) => readFileSync(join(folder, name));
const shapesOf = (folder: string) => {
  const file = read(folder, 'adapter_model.safetensors');
  const header = file.subarray(8, 8 + Number(file.readBigUInt64LE(0))).toString('utf8');
  return JSON.parse(header) as Record<string, { shape: number[] }>;
};
const rankOf = (folder: string, module: string) =>
  shapesOf(folder)[`base_model.model.model.layers.${module}.lora_A.weight`]?.shape[0];

it('trains, goes on after a break and is exported with them; the critic has none', async () => {
  const { id } = await local.client.runs.start(config(patterns));
  await follow(local, id, (item) => item.kind === 'checkpoint' && item.step === 1);
  await local.close();
  local = await openLocal({ home, device: 'cpu' });
  await local.client.runs.resume({ id });
  expect((await follow(local, id)).findLast((item) => item.kind === 'state')).toMatchObject({
    status: 'completed',
  });

  let last: ExportProgress | undefined;
  for await (const item of local.client.runs.export({ id })) last = item;
  expect(last).toMatchObject({ kind: 'done', verified: true });
  const { path } = last as Extract<ExportProgress, { kind: 'done' }>;
  expect(JSON.parse(read(path, 'adapter_config.json').toString())).toMatchObject({
    r: 16,
    lora_alpha: 32,
    rank_pattern: { q_proj: 2, [down]: 24 },
    alpha_pattern: { v_proj: 8 },
  });
  expect(rankOf(path, '0.self_attn.q_proj')).toBe(2);
  expect(rankOf(path, '0.mlp.down_proj')).toBe(24);
  expect(rankOf(path, '1.mlp.down_proj')).toBe(16);

  const critic = join(home, 'runs', id, 'checkpoints', 'step-00000002', 'critic');
  expect(JSON.parse(read(critic, 'adapter_config.json').toString())).toMatchObject({
    rank_pattern: {},
    alpha_pattern: {},
  });
  expect(rankOf(critic, '0.self_attn.q_proj')).toBe(16);
}, 240_000);

it('counts their numbers in what it costs', async () => {
  const adapter = async (more: object) =>
    (await local.client.runs.estimate(config({ ...more }))).memory.adapter;
  const [plain, ranked] = [await adapter({}), await adapter({ loraRanks: 'up_proj: 32' })];
  // up_proj 128 -> 256 has 16 ranks more in each of 3 layers
  expect(ranked - plain).toBe(4 * 16 * (128 + 256) * 3);
}, 120_000);

it.each([
  ['loraRanks', 'q_prj: 4', 'rank_pattern', "'q_prj' gives no adapted module its value"],
  ['loraAlphas', 'lm_head: 4', 'alpha_pattern', "'lm_head' gives no adapted module its value"],
  ['loraRanks', 'q_(proj: 4', 'rank_pattern', 'q_(proj'],
])(
  '%s: %s is refused by its field',
  async (key, text, field, message) => {
    const { problems } = await local.client.runs.estimate(config({ [key]: text }));
    expect(problems).toMatchObject([{ level: 'error', path: `params.${key}` }]);
    expect(problems[0]!.message).toContain(field);
    expect(problems[0]!.message).toContain(message);
  },
  120_000,
);
