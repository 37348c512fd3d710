import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { skillData, type Skill } from './corpus';

const titles: Record<Skill, { name: string; about: string }> = {
  sums: { name: 'Sums', about: 'Sums of two numbers of two or three digits. Each needs at least one carry.' },
  decimals: {
    name: 'Decimals',
    about: 'Which of two decimals is larger? The one with fewer figures is, in each row.',
  },
};

const lines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join('\n') + '\n';

/** The JSONL files and index.json, which names them, their held-out rows and their reward. */
export function writeDatasets(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const index = (Object.keys(titles) as Skill[]).flatMap((skill) => {
    const { rows, heldOut, worked } = skillData(skill);
    const { name, about } = titles[skill];
    const files = {
      [skill]: rows.map(({ prompt, answer }) => ({ prompt, answer })),
      [`${skill}-held-out`]: heldOut.map(({ prompt, answer }) => ({ prompt, answer })),
      [`${skill}-worked`]: worked.map(({ prompt, completion }) => ({ prompt, completion })),
    };
    for (const [id, contents] of Object.entries(files))
      writeFileSync(join(folder, `${id}.jsonl`), lines(contents));
    const heldOutId = `${skill}-held-out`;
    return [
      { id: skill, name, description: about, heldOut: heldOutId, suggestedReward: skill },
      {
        id: heldOutId,
        name: `${name}, held out`,
        description: `${about} Kept for measuring: in no training row.`,
        heldOut: null,
        suggestedReward: skill,
      },
      {
        id: `${skill}-worked`,
        name: `${name}, worked`,
        description: `${about} With the right working, to be learnt by SFT.`,
        heldOut: null,
        suggestedReward: null,
      },
    ];
  });
  writeFileSync(join(folder, 'index.json'), JSON.stringify(index, null, 2) + '\n');
}
