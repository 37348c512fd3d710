// Makes the bundled model, its data and its card again: npm run make-model. About ten minutes on two cores.
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { ModelText } from '../../electron/backend/text';
import { engineModule, type Device } from '../../native';
import decimalsReward from '../rewards/decimals';
import sumsReward from '../rewards/sums';
import { writeCard } from './card';
import { baseRows, CORPUS, heldOutPrompts, skillData, type Skill } from './corpus';
import { writeDatasets } from './datasets';
import { measure, type Score } from './measure';
import { CONFIG, writeTextFiles } from './model-files';
import { fineTune, SFT } from './sft';
import { makeTokenizer, tokenizerTexts } from './tokenizer';

const resources = fileURLToPath(new URL('..', import.meta.url));
const folder = join(resources, 'models/abacus');
const device = (process.env['ATELIER_DEVICE'] ?? 'cpu') as Device;
const scores: Record<Skill, Score> = { sums: sumsReward, decimals: decimalsReward };

writeDatasets(join(resources, 'datasets'));

const rows = baseRows(CORPUS.seed, heldOutPrompts());
const sample = Array.from({ length: CORPUS.tokenizerRows }, () => rows.next().value);
writeTextFiles(folder, makeTokenizer(tokenizerTexts(sample), CONFIG.vocab_size));
const text = await ModelText.fromFolder(folder);

const engine = engineModule(device).createEngine({ device });
const { id: model, parameters } = await engine.initModel(JSON.stringify(CONFIG), { seed: SFT.seed });
console.log(`${parameters} parameters`);
const started = performance.now();
const seconds = () => Math.round((performance.now() - started) / 1000);
await fineTune(engine, model, text, rows, (step, loss) => {
  if (step % 25 === 0) console.log(`step ${step}/${SFT.steps}  loss ${loss.toFixed(4)}  ${seconds()} s`);
});
const trained = seconds();
await engine.saveModel(model, folder, { dtype: 'bf16' });
await engine.unloadModel(model);

// Figures are those of the stored weights, rounded to bf16.
const stored = await engine.loadModel(folder);
const figures = {} as Record<Skill, { sampled: number; greedy: number; reward: number; length: number }>;
for (const skill of Object.keys(scores) as Skill[]) {
  const questions = skillData(skill).heldOut;
  const policy = { model: stored.id, adapter: null, text };
  const sampled = await measure(engine, policy, questions, scores[skill], {
    temperature: 1,
    samples: 4,
    seed: 1,
  });
  const greedy = await measure(engine, policy, questions, scores[skill], {
    temperature: 0,
    samples: 1,
    seed: 1,
  });
  figures[skill] = {
    sampled: sampled.right,
    greedy: greedy.right,
    reward: sampled.reward,
    length: sampled.length,
  };
  console.log(skill, figures[skill]);
}
writeCard(folder, { parameters, seconds: trained, figures });
await engine.close();
