import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { grpoLoss } from '../../shared/algorithms/grpo';
import { gspoLoss } from '../../shared/algorithms/gspo';
import { sftLoss } from '../../shared/algorithms/sft';
import type { LossProgram } from '../../shared/program';
import { learningRateFactor } from '../../shared/schedules';
import type { AdapterId, ModelId, OptimizerId, StepResult } from '../../native';
import type { Context } from '../context';
import { interleave, type Json } from '../losses/case';
import { Comparer } from '../losses/compare';
import { dpoProgram } from '../losses/dpo';
import type { Line } from '../report';
import { readTensors } from '../safetensors';
import { byFolder, lineOf, together, type Item } from './item';
import { toRows, unpadded } from './rows';

/** A row's targets are its tokens from the second on. */
type Inputs = Record<string, number[]>;

class Session {
  readonly loss = new Comparer(2e-4, 0);
  readonly gradient = new Comparer(1e-3, 1e-3);
  readonly final = new Comparer(1e-4, 0);
  model!: ModelId;
  adapter: AdapterId | null = null;
  optimizer!: OptimizerId;
  private updates = 0;

  constructor(
    readonly ctx: Context,
    readonly folder: string,
    readonly spec: Json,
  ) {}

  async open(): Promise<void> {
    const { engine } = this.ctx;
    const { betas, eps, weight_decay } = this.spec.config;
    this.model = (await this.ctx.load(this.ctx.path(this.spec.base_model))).id;
    const isFull = this.folder.endsWith('sft_full');
    if (!isFull)
      this.adapter = (await engine.loadAdapter(this.model, this.ctx.path(`${this.folder}/init`))).id;
    this.optimizer = await engine.createOptimizer(
      isFull ? { kind: 'full', model: this.model } : { kind: 'adapter', adapter: this.adapter! },
      {
        kind: 'adamw',
        beta1: betas[0],
        beta2: betas[1],
        epsilon: eps,
        weightDecay: weight_decay,
        decayAll: true,
      },
    );
  }

  async close(): Promise<void> {
    const { engine } = this.ctx;
    await engine.freeOptimizer(this.optimizer);
    if (this.adapter !== null) await engine.unloadAdapter(this.adapter);
    await engine.unloadModel(this.model);
  }

  /** One update; compares loss, gradient norm and metrics with the next expected ones. */
  async step(
    program: LossProgram,
    rows: number[][],
    inputs: Inputs,
    metrics: Json = {},
  ): Promise<StepResult> {
    const { config, expected } = this.spec;
    const k = this.updates++;
    const plan = {
      schedule: config.schedule ?? 'constant',
      warmup: config.num_warmup_steps ?? 0,
      updates: config.num_training_steps ?? 1,
    };
    const learningRate = config.lr * learningRateFactor(plan, k);
    const result = await this.ctx.engine.step({
      optimizer: this.optimizer,
      rows: toRows(rows),
      program: JSON.stringify(program),
      inputs: Object.fromEntries(
        program.inputs
          .filter((i) => i.from !== 'engine')
          .map((i) => [i.name, Float32Array.from(inputs[i.name])]),
      ),
      temperature: 1,
      learningRate,
      maxGradNorm: config.max_grad_norm ?? null,
      // Small enough that a step is made of several micro-batches.
      microTokens: 24,
    });
    this.loss.numbers(`step ${k} loss`, [result.loss], [expected.loss[k]]);
    this.gradient.numbers(`step ${k} gradient norm`, [result.gradNorm], [expected.grad_norm[k]]);
    if (expected.lr) this.loss.numbers(`step ${k} learning rate`, [learningRate], [expected.lr[k]]);
    for (const [name, value] of Object.entries<number>(metrics))
      this.loss.numbers(`step ${k} ${name}`, [result.metrics[name]], [value]);
    return result;
  }

  async score(rows: number[][], adapter: AdapterId | null): Promise<number[]> {
    return Array.from(
      (await this.ctx.engine.score({ model: this.model, adapter, rows: toRows(rows), microTokens: 24 })).logp,
    );
  }

  async compareAdapter(): Promise<void> {
    const file = join(this.ctx.temporary, 'trained.safetensors');
    await this.ctx.engine.saveAdapter(this.adapter!, file);
    const got = readTensors(file);
    const expected = this.ctx.tensors(`${this.folder}/final/adapter_model.safetensors`);
    for (const [name, { data }] of Object.entries(expected))
      this.final.numbers(name, got[name]?.data ?? [], data);
    if (Object.keys(got).length !== Object.keys(expected).length)
      this.final.result.failures.push(
        `${Object.keys(got).length} tensors, expected ${Object.keys(expected).length}`,
      );
  }
}

function supervised(batch: Json): { rows: number[][]; mask: number[] } {
  const { input_ids, attention_mask, labels } = batch;
  return {
    rows: unpadded(input_ids, attention_mask),
    mask: unpadded(labels, attention_mask).flatMap((row) => row.slice(1).map((y) => (y === -100 ? 0 : 1))),
  };
}

/** Of the parts that a loss is made of, where the fixture tells them apart. */
const metricsAt = ({ nll, aux_loss }: Json, k: number): Json =>
  aux_loss ? { 'train/nll': nll[k], 'train/router_aux': aux_loss[k] } : {};

/** transformers' router_aux_loss_coef. */
const runMixture = (s: Session): Promise<void> => runSupervised(s, sftLoss({ routerAuxCoef: 0.01 }));

async function runSupervised(s: Session, program = sftLoss()): Promise<void> {
  const { batches, config, expected } = s.spec;
  const accumulated = config.gradient_accumulation_steps ?? 1;
  for (let i = 0; i < batches.length; i += accumulated) {
    const parts = batches.slice(i, i + accumulated).map(supervised);
    const rows = parts.flatMap((p: { rows: number[][] }) => p.rows);
    const loss = parts.flatMap((p: { mask: number[] }) => p.mask);
    await s.step(program, rows, { loss }, metricsAt(expected, i / accumulated));
  }
  if (expected.loss_on_first_batch_after === undefined) return;
  const { rows, mask } = supervised(batches[0]);
  const logp = await s.score(rows, s.adapter);
  const chosen = logp.filter((_, t) => mask[t] === 1);
  const after = -chosen.reduce((a, b) => a + b, 0) / chosen.length;
  s.loss.numbers('loss on the first batch after', [after], [expected.loss_on_first_batch_after]);
}

async function runFull(s: Session): Promise<void> {
  await runSupervised(s);
  const dir = join(s.ctx.temporary, 'full');
  mkdirSync(dir, { recursive: true });
  await s.ctx.engine.saveModel(s.model, dir, { dtype: 'f32' });
  const got = readTensors(join(dir, 'model.safetensors'));
  for (const [name, { data }] of Object.entries(s.ctx.tensors(`${s.folder}/final_some_params.safetensors`)))
    s.final.numbers(name, got[name]?.data ?? [], data);
  for (const [name, l2] of Object.entries<number>(s.spec.expected.final_param_l2))
    s.final.numbers(`${name} l2`, [Math.hypot(...(got[name]?.data ?? [])) / l2], [1]);
}

/** Two passes over two minibatches of fixed rollouts, for grpo and gspo. */
async function runRollouts(s: Session): Promise<void> {
  const { rollouts: r, config, expected } = s.spec;
  const prompts = unpadded(r.prompt_ids, r.prompt_mask);
  const completions = unpadded(r.completion_ids, r.completion_mask);
  const rows = prompts.map((p, i) => [...p, ...completions[i]]);
  // Targets of a row: the prompt's but for its first token, then the completion's.
  const mask = rows.map((_, i) => [...prompts[i].slice(1).map(() => 0), ...completions[i].map(() => 1)]);
  const split = (flat: number[]): number[][] => {
    let from = 0;
    return mask.map((m) => flat.slice(from, (from += m.length)));
  };
  const old = split(await s.score(rows, s.adapter));
  const ref = split(await s.score(rows, null));
  const onCompletions = (x: number[][]) => x.flatMap((row, i) => row.filter((_, t) => mask[i][t] === 1));
  s.loss.numbers(
    'old_logprobs',
    onCompletions(old),
    unpadded(expected.old_logprobs, r.completion_mask).flat(),
  );
  s.loss.numbers(
    'ref_logprobs',
    onCompletions(ref),
    unpadded(expected.ref_logprobs, r.completion_mask).flat(),
  );
  const common = {
    clipLow: config.epsilon_low,
    clipHigh: config.epsilon_high,
    normalisation: config.loss_type,
    maxNewTokens: 1,
    beta: config.beta,
    entropyBonus: 0,
  };
  const program =
    config.importance_sampling_level === 'token'
      ? grpoLoss({
          ...common,
          objective: 'clip',
          ratioCap: 0,
          biasCorrectedKl: false,
          entropyShare: 1,
          correction: 'sampler',
        })
      : gspoLoss({ ...common, level: 'sequence' });
  const tokens = mask.flat().reduce((a, b) => a + b, 0);
  let k = 0;
  for (let pass = 0; pass < config.epochs; pass++)
    for (const batch of r.mini_batches as number[][]) {
      const pick = <X>(x: X[]): X[] => batch.map((i) => x[i]);
      const m = expected.metrics[k++];
      const named = {
        'policy/kl': m.kl,
        'policy/entropy': m.entropy,
        'policy/clip_low': m['clip_ratio/low_mean'],
        'policy/clip_high': m['clip_ratio/high_mean'],
      };
      await s.step(
        program,
        pick(rows),
        {
          loss: pick(mask).flat(),
          samplerLogp: pick(old).flat(),
          refLogp: pick(ref).flat(),
          advantage: pick(r.advantages),
          meanStepTokens: [tokens / r.mini_batches.length],
        },
        named,
      );
    }
}

async function runPairs(s: Session): Promise<void> {
  const program = dpoProgram({ loss_type: ['sigmoid'], label_smoothing: 0, ...s.spec.config }, 'logits');
  for (const [k, batch] of s.spec.batches.entries()) {
    const [ids, attention, completion] = [batch.input_ids, batch.attention_mask, batch.completion_mask].map(
      (x: number[][]) => interleave(x, 2),
    );
    const rows = unpadded(ids, attention);
    const mask = unpadded(completion, attention).flatMap((row) => row.slice(1));
    const chosen = rows.map((_, row) => (row % 2 === 0 ? 1 : 0));
    const inputs = { loss: mask, refLogp: await s.score(rows, null), chosen };
    await s.step(program, rows, inputs, s.spec.expected.metrics[k]);
  }
}

const RUNS: Record<string, (s: Session) => Promise<void>> = {
  sft_lora: (s) => runSupervised(s),
  sft_lora_accum_clip_cosine: (s) => runSupervised(s),
  sft_lora_moe_aux_loss: runMixture,
  sft_full: runFull,
  grpo_lora: runRollouts,
  gspo_lora: runRollouts,
  dpo_lora: runPairs,
};

async function runFolder(ctx: Context, folder: string, paths: string[]): Promise<Line[]> {
  const s = new Session(ctx, folder, ctx.json(`${folder}/train.json`));
  await s.open();
  await RUNS[folder.split('/')[1]](s);
  if (s.adapter !== null) await s.compareAdapter();
  await s.close();
  return paths.flatMap((path): Line[] => {
    if (!path.endsWith('train.json')) return [lineOf(path, s.spec.source, s.final)];
    const line = lineOf(path, s.spec.source, s.loss);
    const failures = [...s.loss.result.failures, ...s.gradient.result.failures];
    return [
      {
        ...line,
        tolerance: `2e-4; gradient norms 1e-3 (${s.gradient.result.maxError.toExponential(1)})`,
        ...(failures.length > 0 && { status: 'fail' as const, detail: failures.slice(0, 3).join('; ') }),
      },
    ];
  });
}

export const train: Item = {
  name: 'train',
  owns: (path) => Object.keys(RUNS).some((name) => path.startsWith(`train/${name}/`)),
  async run(ctx, paths) {
    const lines: Line[] = [];
    for (const [folder, files] of byFolder(paths, 2))
      lines.push(...(await together(files, () => runFolder(ctx, folder, files))));
    return lines;
  },
};
