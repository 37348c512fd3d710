// How a GRPO step's cost grows with the group, the length and the model: a table, and a picture of doublings.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { appRoot } from '../electron/backend/system';
import { readArguments } from '../electron/headless/command';
import { engineModule, type Engine } from '../native';
import { adamw, complete, timed, updateBy } from './grpo-work';
import { picture, type Panel } from './picture';

/** A point of an axis; each axis doubles one of them. */
interface Work {
  group: number;
  tokens: number;
  layers: number;
}

const PROMPTS = 8;
const PROMPT_TOKENS = 16;
const LEAST: Work = { group: 4, tokens: 32, layers: 4 };
const DOUBLINGS = 4;
/** A doubling of the work may cost so much: what is beyond grows faster than the work. */
const MOST = 2.3;

const axes = {
  group: 'samples of a prompt',
  tokens: 'new tokens of a row',
  layers: 'layers of the model',
} as const satisfies Record<keyof Work, string>;

const configOf = (layers: number) =>
  JSON.stringify({
    model_type: 'qwen3',
    vocab_size: 512,
    hidden_size: 160,
    intermediate_size: 448,
    num_hidden_layers: layers,
    num_attention_heads: 5,
    num_key_value_heads: 5,
    head_dim: 32,
    max_position_embeddings: 1024,
    tie_word_embeddings: true,
    initializer_range: 0.05,
  });

async function measured(engine: Engine, { group, tokens, layers }: Work) {
  const { id: model } = await engine.initModel(configOf(layers), { seed: 1 });
  const { id: adapter } = await engine.createAdapter(model, {
    rank: 16,
    alpha: 32,
    targetModules: 'all-linear',
    seed: 1,
  });
  const prompts = Array.from({ length: PROMPTS }, (_, p) =>
    Int32Array.from({ length: PROMPT_TOKENS }, (__, t) => 3 + ((p * 61 + t * 17) % 500)),
  );
  const roll = () => complete(engine, model, adapter, prompts, group, tokens);
  const rollout = await timed(roll);
  const { rows } = await roll();
  const { update } = updateBy(engine, await adamw(engine, adapter), prompts, rows);
  const training = await timed(update);
  await engine.unloadModel(model);
  return { rollout, training };
}

export async function benchCost(args: string[]): Promise<number> {
  const { values, device } = readArguments(args, { out: { type: 'string' } });
  const engine = engineModule(device).createEngine({ device });
  const panels: Panel[] = [];
  const table = ['| | rollout, s | update, s | a doubling costs |', '| --- | --- | --- | --- |'];
  let worst = 0;
  for (const [axis, name] of Object.entries(axes) as [keyof Work, string][]) {
    const points: Array<{ size: number; rollout: number; training: number }> = [];
    for (let k = 0; k <= DOUBLINGS; k++) {
      const work = { ...LEAST, [axis]: LEAST[axis] * 2 ** k };
      points.push({ size: work[axis], ...(await measured(engine, work)) });
    }
    const doubling = (part: 'rollout' | 'training') =>
      (points.at(-1)![part] / points[0]![part]) ** (1 / DOUBLINGS);
    worst = Math.max(worst, doubling('rollout'), doubling('training'));
    const list = (part: 'rollout' | 'training') => points.map((point) => point[part].toFixed(3)).join(', ');
    table.push(
      `| ${name}: ${points.map(({ size }) => size).join(', ')} | ${list('rollout')} | ${list('training')} | ` +
        `${doubling('rollout').toFixed(2)}, ${doubling('training').toFixed(2)} times |`,
    );
    const doublings = (part: 'rollout' | 'training') =>
      points.map((point) => Math.log2(point[part] / points[0]![part]));
    panels.push({
      title: name,
      note: `${points[0]!.size} to ${points.at(-1)!.size}; doublings of the time`,
      axis: 'doublings of the work',
      lines: [
        { values: points.map((_, k) => k), color: '#bbb', width: 1 },
        { values: doublings('rollout'), color: '#2563eb', width: 1.6 },
        { values: doublings('training'), color: '#d97706', width: 1.6 },
      ],
    });
  }
  await engine.close();
  const { group, tokens, layers } = LEAST;
  const title = `${PROMPTS} prompts of ${PROMPT_TOKENS} tokens, from ${group} samples, ${tokens} new tokens and ${layers} layers (width 160), LoRA r16, on ${device}`;
  console.log(`${title}\n\n${table.join('\n')}`);
  const out = values.out ?? join(appRoot(), 'build/reports');
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, 'cost.md'), `${title}\n\n${table.join('\n')}\n`);
  const legend = [
    { text: 'in proportion to the work', color: '#bbb' },
    { text: 'rollout', color: '#2563eb' },
    { text: 'update', color: '#d97706' },
  ];
  writeFileSync(
    join(out, 'cost.svg'),
    picture({
      title: 'What a GRPO step costs as the work grows',
      legend,
      columns: 3,
      plot: { width: 230, height: 150 },
      panels,
    }),
  );
  console.log(
    `\n${worst <= MOST ? 'ok' : 'FAILED'}: a doubling costs ${worst.toFixed(2)} times at most (bound ${MOST})`,
  );
  return worst <= MOST ? 0 : 1;
}
