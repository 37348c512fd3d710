import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { skillData, type Skill } from './corpus';
import type { Row } from './row';
import { workedBothWays } from './sums';

const titles: Record<Skill, { name: string; about: string }> = {
  sums: { name: 'Sums', about: 'Sums of two numbers of two or three digits, with a carry.' },
  decimals: {
    name: 'Decimals',
    about: 'Which of two decimals is larger? The one with fewer figures is, in each row.',
  },
};

interface DatasetFile {
  id: string;
  name: string;
  description: string;
  heldOut: string | null;
  suggestedReward: string | null;
  rows: object[];
}

const lines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join('\n') + '\n';
const question = ({ prompt, answer }: Row) => ({ prompt, answer });

/** Questions to be answered and rewarded, and right workings to be learnt. */
function skillFiles(skill: Skill): DatasetFile[] {
  const { rows, heldOut, worked } = skillData(skill);
  const { name, about } = titles[skill];
  return [
    {
      id: skill,
      name,
      description: about,
      heldOut: `${skill}-held-out`,
      suggestedReward: skill,
      rows: rows.map(question),
    },
    {
      id: `${skill}-held-out`,
      name: `${name}, held out`,
      description: `${about} Kept for measuring: in no training row.`,
      heldOut: null,
      suggestedReward: skill,
      rows: heldOut.map(question),
    },
    {
      id: `${skill}-worked`,
      name: `${name}, worked`,
      description: `${about} With the right working, for SFT.`,
      heldOut: null,
      suggestedReward: null,
      rows: worked.map(({ prompt, completion }) => ({ prompt, completion })),
    },
  ];
}

/** The sums with both workings: as pairs, and one by one with a mark. */
function ratedFiles(): DatasetFile[] {
  const { heldOut, worked } = skillData('sums');
  const { name, about } = titles.sums;
  const pairs = (rows: readonly Row[]) =>
    rows.map((row) => {
      const { right, wrong } = workedBothWays(row.prompt);
      return { prompt: row.prompt, chosen: right, rejected: wrong };
    });
  const rated = (rows: readonly Row[]) =>
    rows.map((row, k) => {
      const { right, wrong } = workedBothWays(row.prompt);
      return { prompt: row.prompt, completion: k % 2 === 0 ? right : wrong, label: k % 2 === 0 };
    });
  const kept = 'Kept for measuring: in no training row.';
  const both = (id: string, title: string, text: string, make: typeof pairs | typeof rated): DatasetFile[] => [
    {
      id,
      name: `${name}, ${title}`,
      description: `${about} ${text}`,
      heldOut: `${id}-held-out`,
      suggestedReward: null,
      rows: make(worked),
    },
    {
      id: `${id}-held-out`,
      name: `${name}, ${title}, held out`,
      description: `${about} ${text} ${kept}`,
      heldOut: null,
      suggestedReward: null,
      rows: make(heldOut),
    },
  ];
  return [
    ...both('sums-pairs', 'in pairs', 'With the right and the wrong working, for DPO and its kind.', pairs),
    ...both('sums-rated', 'rated', 'With a working that is marked right or wrong, for KTO.', rated),
  ];
}

/** The JSONL files and index.json, which names them, their held-out rows and their reward. */
export function writeDatasets(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const files = [...skillFiles('sums'), ...ratedFiles(), ...skillFiles('decimals')];
  for (const { id, rows } of files) writeFileSync(join(folder, `${id}.jsonl`), lines(rows));
  const index = files.map(({ id, name, description, heldOut, suggestedReward }) => ({
    id,
    name,
    description,
    heldOut,
    suggestedReward,
  }));
  writeFileSync(join(folder, 'index.json'), JSON.stringify(index, null, 2) + '\n');
}
