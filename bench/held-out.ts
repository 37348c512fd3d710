// Questions for the bench alone: the settings of the demo were chosen by its own held-out rows, so those say too much.
import {
  baseRows,
  CORPUS,
  drawQuestion,
  heldOutPrompts,
  skillData,
  type Skill,
} from '../resources/recipe/corpus';
import type { Question } from '../resources/recipe/measure';
import { Random } from '../resources/recipe/random';
import type { Row } from '../resources/recipe/row';
import { conversations } from '../resources/recipe/sft';

const SEED = 4711;

/** Every question that the base model, its tokenizer or a data set of the app holds. */
export function knownQuestions(): Set<string> {
  const base = baseRows(CORPUS.seed, heldOutPrompts());
  const tokenizer = Array.from({ length: CORPUS.tokenizerRows }, () => base.next().value);
  const stored = (['sums', 'decimals'] as const).flatMap((skill) => {
    const { rows, heldOut, worked } = skillData(skill);
    return [...rows, ...heldOut, ...worked];
  });
  return new Set([...tokenizer, ...[...conversations(base)].flat(), ...stored].map(({ prompt }) => prompt));
}

/** How many figures each number of a question has. The base model knows most short sums, so new ones are rare. */
const shape = ({ prompt }: Row): string => prompt.replaceAll(/\d/g, '0');

/** As many questions as the app's held-out set has, of the same shapes, none of `known`; always the same. */
export function freshQuestions(skill: Skill, known: ReadonlySet<string>): Question[] {
  const wanted = new Map<string, number>();
  for (const row of skillData(skill).heldOut) wanted.set(shape(row), (wanted.get(shape(row)) ?? 0) + 1);
  const taken = new Set(known);
  const random = new Random(SEED);
  const fresh: Question[] = [];
  while (fresh.length < CORPUS.heldOut) {
    const row = drawQuestion(skill, random);
    const missing = wanted.get(shape(row)) ?? 0;
    if (missing === 0 || taken.has(row.prompt)) continue;
    wanted.set(shape(row), missing - 1);
    taken.add(row.prompt);
    fresh.push({ prompt: row.prompt, answer: row.answer });
  }
  return fresh;
}
