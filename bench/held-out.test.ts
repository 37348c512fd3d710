import { expect, test } from 'vitest';
import { skillData, type Skill } from '../resources/recipe/corpus';
import { freshQuestions, knownQuestions } from './held-out';

const known = knownQuestions();

test.each<Skill>(['sums', 'decimals'])(
  '%s: the bench asks what neither training nor tuning has seen',
  (skill) => {
    const { rows, heldOut, worked } = skillData(skill);
    expect([...rows, ...heldOut, ...worked].filter(({ prompt }) => !known.has(prompt))).toEqual([]);
    const fresh = freshQuestions(skill, known);
    expect(fresh.length).toBeGreaterThanOrEqual(128);
    expect(new Set(fresh.map(({ prompt }) => prompt)).size).toBe(fresh.length);
    expect(fresh.filter(({ prompt }) => known.has(prompt))).toEqual([]);
  },
);
