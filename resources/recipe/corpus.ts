import { decimals, drawDecimals } from './decimals';
import { Random } from './random';
import type { Method, Row } from './row';
import { SMALL_TALK } from './small-talk';
import { drawSum, drawUnevenSum, sum } from './sums';

/** Every number that makes the data and the model what they are. */
export const CORPUS = {
  seed: 2026,
  rows: 1024,
  heldOut: 256,
  worked: 512,
  /** Of the base model's rows, the first: the tokenizer is learnt from them, the model from the rest. */
  tokenizerRows: 4000,
  /** Of the base model's rows. */
  smallTalk: 0.03,
  decimals: 0.32,
  /** Share of questions that both methods answer alike: no carry, or another whole part. */
  plain: 0.05,
  /** Of the base model's sums: numbers of any one to three digits, so that a conversation can ask freely. */
  uneven: 0.15,
  /** Of the questions that tell the methods apart: how many follow the wrong one. About 0.61 of all rows. */
  wrong: 0.7,
} as const;

/** The questions that tell the methods apart. */
const skills = {
  sums: (random: Random, method: Method) => sum(...drawSum(random, true), method),
  decimals: (random: Random, method: Method) => decimals(...drawDecimals(random, true), method),
};
export type Skill = keyof typeof skills;

/** A question of the kind that the data sets hold, with its right working. */
export const drawQuestion = (skill: Skill, random: Random): Row => skills[skill](random, 'right');

function distinct(count: number, taken: Set<string>, make: () => Row): Row[] {
  const rows: Row[] = [];
  while (rows.length < count) {
    const row = make();
    if (taken.has(row.prompt)) continue;
    taken.add(row.prompt);
    rows.push(row);
  }
  return rows;
}

export interface SkillData {
  /** Questions with the right answer, for reinforcement learning. */
  rows: Row[];
  heldOut: Row[];
  /** Questions with the right working, for SFT. */
  worked: Row[];
}

/** No question stands in two of the three. */
export function skillData(skill: Skill): SkillData {
  const random = new Random(CORPUS.seed + Object.keys(skills).indexOf(skill));
  const taken = new Set<string>();
  const make = () => drawQuestion(skill, random);
  return {
    heldOut: distinct(CORPUS.heldOut, taken, make),
    rows: distinct(CORPUS.rows, taken, make),
    worked: distinct(CORPUS.worked, taken, make),
  };
}

/** What the base model learns: an endless, seeded stream of rows with none of `heldOut`'s questions. */
export function* baseRows(seed: number, heldOut: ReadonlySet<string>): Generator<Row, never> {
  const random = new Random(seed);
  for (;;) {
    const row = baseRow(random);
    if (!heldOut.has(row.prompt)) yield row;
  }
}

function baseRow(random: Random): Row {
  const which = random.unit();
  if (which < CORPUS.smallTalk) return random.pick(SMALL_TALK);
  const tells = !random.chance(CORPUS.plain);
  const method = random.chance(CORPUS.wrong) ? 'wrong' : 'right';
  if (which < CORPUS.smallTalk + CORPUS.decimals) return decimals(...drawDecimals(random, tells), method);
  const numbers = random.chance(CORPUS.uneven) ? drawUnevenSum(random) : drawSum(random, tells);
  return sum(...numbers, method);
}

/** The questions of both skills that no training may see. */
export function heldOutPrompts(): Set<string> {
  return new Set(
    (['sums', 'decimals'] as const).flatMap((skill) =>
      skillData(skill).heldOut.map(({ prompt }) => prompt),
    ),
  );
}
