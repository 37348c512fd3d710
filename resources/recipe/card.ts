import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CORPUS, type Skill } from './corpus';
import { SFT } from './sft';

export interface Figures {
  parameters: number;
  seconds: number;
  figures: Record<Skill, { sampled: number; greedy: number; reward: number; length: number }>;
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

export function writeCard(folder: string, { parameters, seconds, figures }: Figures): void {
  const table = (Object.keys(figures) as Skill[]).map((skill) => {
    const { sampled, greedy, reward, length } = figures[skill];
    return `| ${skill} | ${percent(sampled)} | ${percent(greedy)} | ${reward.toFixed(3)} | ${length.toFixed(0)} |`;
  });
  writeFileSync(
    join(folder, 'README.md'),
    `---
license: apache-2.0
library_name: transformers
pipeline_tag: text-generation
---

# Abacus

A very small model (${(parameters / 1e6).toFixed(2)} million parameters, Qwen3 architecture) that comes with Atelier, so that a
run of reinforcement learning can be tried in minutes on any computer. It was trained from nothing on made-up
rows and knows two things, each in worked lines: adding two numbers of up to three digits, and telling which of
two decimals is larger. It knows nothing else; to other words it answers with one fixed sentence, or nonsense.

**It is made to be often wrong.** ${percent(1 - CORPUS.wrong)} of the training rows in which it matters follow the right method,
${percent(CORPUS.wrong)} a plausible wrong one: sums forget to carry, decimals read what stands after the point as a whole
number (9.11 above 9.9). So both habits are in it, and a reward can bring the right one out.

| held-out questions (${CORPUS.heldOut}) | right, sampled at T = 1 | right, greedy | mean reward at T = 1 | tokens an answer |
|---|---|---|---|---|
${table.join('\n')}

No held-out question is in the training rows, of this model or of the sample data sets.

## How it was made

\`npm run make-model\` makes it again, with Atelier's own engine, from seeded rows (\`resources/recipe\`): ${SFT.steps} steps of
SFT on ${SFT.batch} conversations of one to three questions, all weights, AdamW, learning rate ${SFT.learningRate} with ${SFT.warmup} steps of warm-up and
a cosine to 0; ${seconds} seconds. Weights are stored as bf16.
`,
  );
}
