import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ModelText } from '../../electron/backend/text';
import type { Device, Engine } from '../../native';
import { learnsWith } from '../../shared/contract/demo';
import { shortRun } from './short-run';

interface Options {
  device: Device;
  engine: Engine;
  /** Folder of the bundled model. */
  base: string;
  /** Pairs of the bundled data set. */
  pairs: string;
  scratch: string;
  /** What a script of this folder says of a case. */
  ask<Answer>(script: string, file: string): Answer;
}

/**
 * Trains a reward model for a few steps and exports it as an adapter and merged; PEFT on its base and transformers must
 * give our scores. Whether they do.
 */
export async function rewardModelIsRead({
  device,
  engine,
  base,
  pairs,
  scratch,
  ask,
}: Options): Promise<boolean> {
  const [adapter, merged] = await shortRun(
    mkdtempSync(join(scratch, 'home-')),
    device,
    {
      name: 'Reward model',
      algorithm: 'reward_model',
      model: 'abacus',
      data: { dataset: 'sums-pairs' },
      params: { ...learnsWith['reward_model'], epochs: 1 },
    },
    [{ kind: 'adapter' }, { kind: 'merged', dtype: 'f32' }],
  );

  const text = await ModelText.fromFolder(base);
  const rows: number[][] = [];
  for (const line of readFileSync(pairs, 'utf8').split('\n').slice(0, 8)) {
    const { prompt, chosen, rejected } = JSON.parse(line) as Record<string, string>;
    for (const content of [chosen, rejected])
      rows.push([
        ...(await text.conversation([
          { role: 'user', content: prompt! },
          { role: 'assistant', content: content! },
        ])),
      ]);
  }
  const { id: model } = await engine.loadModel(base);
  const loaded = await engine.loadAdapter(model, adapter!);
  const { score } = await engine.score({
    model,
    adapter: loaded.id,
    rows: { ids: Int32Array.from(rows.flat()), lengths: Int32Array.from(rows, ({ length }) => length) },
    logp: false,
    score: true,
  });
  await engine.unloadModel(model);
  const file = join(scratch, 'reward-model.json');
  writeFileSync(file, JSON.stringify({ base, adapter, merged, rows, ours: [...score!] }));
  const answer = ask<{ difference: number; merged: number; effect: number; task: string; head: number }>(
    'scores.py',
    file,
  );
  const good =
    answer.difference <= 1e-4 && answer.merged <= 1e-4 && answer.effect > 0 && answer.task === 'SEQ_CLS';
  console.log(
    `${good ? 'pass' : 'FAIL'}  a reward model: ${answer.task} with a head of ${answer.head}; max |score - PEFT's| ` +
      `${answer.difference.toExponential(2)} in f64 (at most 1e-4), max |transformers on merged - PEFT's| ` +
      `${answer.merged.toExponential(2)}, effect of its LoRA ${answer.effect.toExponential(2)}`,
  );
  return good;
}
