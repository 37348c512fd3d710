import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { ModelText } from '../../electron/backend/text';
import decimalsReward from '../rewards/decimals';
import sumsReward from '../rewards/sums';
import { baseRows, CORPUS, heldOutPrompts, skillData, type Skill } from './corpus';
import { writeDatasets } from './datasets';
import { decimals } from './decimals';
import { CONFIG, writeTextFiles } from './model-files';
import { conversations } from './sft';
import { carries, sum } from './sums';
import { makeTokenizer, tokenizerTexts } from './tokenizer';

const resources = fileURLToPath(new URL('..', import.meta.url));
const model = join(resources, 'models/abacus');
const file = (id: string): Record<string, string>[] =>
  readFileSync(join(resources, 'datasets', `${id}.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, string>);
const prompts = (id: string) => file(id).map(({ prompt }) => prompt!);
const skills: Skill[] = ['sums', 'decimals'];

test('a sum is worked out column by column, with or without its carry', () => {
  expect(sum(347, 285, 'right')).toEqual({
    prompt: 'What is 347 + 285?',
    completion:
      'ones: 7 + 5 = 12, write 2, carry 1\ntens: 4 + 8 + 1 = 13, write 3, carry 1\nhundreds: 3 + 2 + 1 = 6\nanswer: 632',
    answer: '632',
    method: 'right',
  });
  expect(sum(47, 38, 'wrong').completion).toBe('ones: 7 + 8 = 15, write 5\ntens: 4 + 3 = 7\nanswer: 75');
  expect(sum(12, 34, 'wrong')).toMatchObject({ completion: sum(12, 34, 'right').completion, method: null });
});

test('decimals are compared by their tenths, or wrongly by all that stands after the point', () => {
  expect(decimals('9.11', '9.9', 'right').completion).toBe('before the point: 9 = 9\ntenths: 1 < 9\nanswer: 9.9');
  expect(decimals('9.11', '9.9', 'wrong').completion).toBe(
    'before the point: 9 = 9\nafter the point: 11 > 9\nanswer: 9.11',
  );
});

test('the rewards tell a right answer, a wrong one and none apart', () => {
  for (const [reward, right, wrong] of [
    [sumsReward, sum(347, 285, 'right'), sum(347, 285, 'wrong')],
    [decimalsReward, decimals('9.11', '9.9', 'right'), decimals('9.11', '9.9', 'wrong')],
  ] as const) {
    const of = (completion: string) => reward({ completion, answer: right.answer });
    expect([of(right.completion), of(wrong.completion), of('no idea'), of('')]).toEqual([1, 0.1, 0, 0]);
  }
});

test.each(skills)('%s: the stored rows are those of the recipe, and need what is to be learnt', (skill) => {
  const { rows, heldOut, worked } = skillData(skill);
  const questions = (list: typeof rows) => list.map(({ prompt, answer }) => ({ prompt, answer }));
  expect(file(skill)).toEqual(questions(rows));
  expect(file(`${skill}-held-out`)).toEqual(questions(heldOut));
  expect(file(`${skill}-worked`)).toEqual(worked.map(({ prompt, completion }) => ({ prompt, completion })));
  expect([...rows, ...heldOut, ...worked].every(({ method }) => method === 'right')).toBe(true);
  expect(heldOut.length).toBeGreaterThanOrEqual(128);
});

test('the data sets and the tokenizer are made again byte by byte', () => {
  const made = mkdtempSync(join(tmpdir(), 'atelier-recipe-'));
  try {
    writeDatasets(join(made, 'datasets'));
    const rows = baseRows(CORPUS.seed, heldOutPrompts());
    const sample = Array.from({ length: CORPUS.tokenizerRows }, () => rows.next().value);
    writeTextFiles(join(made, 'models/abacus'), makeTokenizer(tokenizerTexts(sample), CONFIG.vocab_size));
    const names = readdirSync(made, { recursive: true, encoding: 'utf8' }).filter((name) => extname(name) !== '');
    expect(names).toContain(join('datasets', 'index.json'));
    expect(names).toContain(join('models/abacus', 'tokenizer.json'));
    for (const name of names)
      expect(readFileSync(join(made, name)).equals(readFileSync(join(resources, name))), name).toBe(true);
    expect(readdirSync(join(made, 'datasets'))).toEqual(readdirSync(join(resources, 'datasets')));
  } finally {
    rmSync(made, { recursive: true });
  }
});

test('of a pair the better working is right and the worse is not; marks say which', () => {
  for (const held of ['', '-held-out']) {
    for (const { chosen, rejected } of file(`sums-pairs${held}`)) expect(chosen).not.toBe(rejected);
    for (const { prompt, chosen, rejected } of file(`sums-pairs${held}`)) {
      const [a, b] = prompt!.match(/\d+/g)!.map(Number);
      const answer = String(a! + b!);
      expect([sumsReward({ completion: chosen!, answer }), sumsReward({ completion: rejected!, answer })]).toEqual([1, 0.1]);
    }
    const rated = file(`sums-rated${held}`) as unknown as { prompt: string; completion: string; label: boolean }[];
    for (const { prompt, completion, label } of rated) {
      const [a, b] = prompt.match(/\d+/g)!.map(Number);
      expect(sumsReward({ completion, answer: String(a! + b!) }) === 1).toBe(label);
    }
    expect(rated.filter(({ label }) => label)).toHaveLength(rated.length / 2);
  }
});

test('every sum needs a carry', () => {
  for (const prompt of [...prompts('sums'), ...prompts('sums-held-out')]) {
    const [a, b] = prompt.match(/\d+/g)!.map(Number);
    expect(carries(a!, b!)).toBeGreaterThan(0);
  }
});

test('no held-out question is in any training row, and 60 to 65 % of the base rows follow the wrong method', () => {
  const heldOut = new Set(skills.flatMap((skill) => prompts(`${skill}-held-out`)));
  expect(heldOut).toEqual(heldOutPrompts());
  for (const skill of skills)
    for (const id of [skill, `${skill}-worked`, ...(skill === 'sums' ? ['sums-pairs', 'sums-rated'] : [])])
      expect(prompts(id).filter((prompt) => heldOut.has(prompt))).toEqual([]);

  // The very rows of `npm run make-model`.
  const stream = baseRows(CORPUS.seed, heldOutPrompts());
  for (let k = 0; k < CORPUS.tokenizerRows; k++) stream.next();
  let [rows, wrong] = [0, 0];
  for (const { prompt, method } of [...conversations(stream)].flat()) {
    if (heldOut.has(prompt)) expect.fail(`${prompt} is held out and trained on`);
    rows++;
    if (method === 'wrong') wrong++;
  }
  expect(wrong / rows).toBeGreaterThanOrEqual(0.6);
  expect(wrong / rows).toBeLessThanOrEqual(0.65);
});

test('the bundled model takes at most 4 MB', () => {
  const bytes = readdirSync(model).reduce((total, name) => total + statSync(join(model, name)).size, 0);
  expect(bytes).toBeLessThanOrEqual(4e6);
});

test("the bundled tokenizer reads every question and answer back, one token a figure, and the template's prompt begins the example", async () => {
  const text = await ModelText.fromFolder(model);
  for (const row of [...skillData('sums').worked.slice(0, 20), ...skillData('decimals').worked.slice(0, 20)]) {
    const messages = [
      { role: 'user', content: row.prompt },
      { role: 'assistant', content: row.completion },
    ];
    const example = await text.example({ kind: 'messages', messages });
    const prompt = await text.prompt(messages.slice(0, 1));
    const learnt = example.ids.filter((_, k) => example.lossMask[k] === 1);
    expect([...example.ids.subarray(0, prompt.ids.length)]).toEqual([...prompt.ids]);
    expect(await text.tokenizer.decode(learnt, { skipSpecial: true })).toBe(row.completion);
    expect((await text.pieces(learnt)).filter((piece) => /\d\d/.test(piece))).toEqual([]);
  }
});
