import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { openScoring } from './open';
import { RewardStore } from './reward-store';
import { record, spawnReward } from './testing';

let home: string;
let store: RewardStore;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'atelier-rewards-'));
  store = new RewardStore(home, 'resources/rewards');
});

describe('the store', () => {
  test('bundled rewards and templates have name, words and hash from their code', async () => {
    const list = await store.list();
    const sums = list.find(({ id }) => id === 'sums')!;
    expect(sums).toMatchObject({ source: 'bundled', name: 'Right sum' });
    expect(sums.description).toMatch(/right answer/);
    expect(list.find(({ id }) => id === 'number-match')?.name).toBe('Number match');
    expect(new Set(list.map(({ id }) => id)).size).toBe(list.length);
  });

  test('a saved reward comes back, is replaced in place, and is a file of its own', async () => {
    const saved = await store.save({ name: 'Mine', language: 'typescript', code: 'export default () => 1;' });
    expect(saved).toMatchObject({ id: 'mine', source: 'user', name: 'Mine' });
    const again = await store.save({
      id: 'mine',
      name: 'Mine too',
      code: 'export default () => 2;',
      language: 'typescript',
    });
    expect(again.id).toBe('mine');
    expect(again.hash).not.toBe(saved.hash);
    expect(await new RewardStore(home, 'resources/rewards').get('mine')).toEqual(again);
    expect(await readFile(join(home, 'rewards/mine.ts'), 'utf8')).toBe('export default () => 2;');
    await store.remove('mine');
    await expect(store.get('mine')).rejects.toMatchObject({ code: 'not_found' });
  });

  test('a bundled one is copied, never changed or removed', async () => {
    const copy = await store.save({
      id: 'sums',
      name: 'Right sum',
      code: 'export default () => 0;',
      language: 'typescript',
    });
    expect(copy).toMatchObject({ id: 'right-sum', source: 'user' });
    await expect(store.remove('sums')).rejects.toMatchObject({ code: 'forbidden' });
    await expect(
      store.save({ id: 'nowhere', name: 'x', code: '', language: 'typescript' }),
    ).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});

describe('check', () => {
  const scoring = openScoring(tmpdir(), 'resources', spawnReward);
  afterAll(() => scoring.close());

  test.each([
    ['export default () => 1', []],
    ['export default function reward({ completion }: { completion: string }): number { return 1; }', []],
    [
      'const a = 1;\nexport default () => 1 +;',
      [{ line: 2, column: 25, message: expect.any(String) as string }],
    ],
    [
      'enum A { B }\nexport default () => A.B;',
      [{ line: 1, column: 1, message: expect.stringMatching(/left out/) as string }],
    ],
    [
      'const a = 1;',
      [{ line: 1, column: 1, message: expect.stringMatching(/no "export default/) as string }],
    ],
    [
      'export default 3;',
      [{ line: 1, column: 1, message: expect.stringMatching(/no "export default/) as string }],
    ],
    [
      'type A = string;\n\nconst a: A = missing;\nexport default () => a;',
      [{ line: 3, column: 14, message: expect.stringMatching(/missing/) as string }],
    ],
    [
      "import { x } from 'y';\nexport default () => x;",
      [{ line: 1, column: 1, message: expect.stringMatching(/import/) as string }],
    ],
    [
      'export default await new Promise(() => {});',
      [{ line: 1, column: 1, message: expect.stringMatching(/await/) as string }],
    ],
  ])('%s', async (code, problems) => {
    expect((await scoring.describe({ language: 'typescript', code })).problems).toEqual(problems);
  });

  const samples = {
    'number-match': [record('so 1,234.0', { answer: '1234' }), record('12', { answer: '13' }), record('x')],
    'contains-answer': [
      record('It is Paris.', { answer: 'paris' }),
      record('Rome', { answer: 'Paris' }),
      record('x'),
    ],
    'format-pattern': [record('<answer>b</answer>\n'), record('b')],
    length: [record('few words'), record('')],
    'json-valid': [record('{"name": 1, "date": 2}'), record('{}'), record('no')],
  };
  const wanted = {
    'number-match': [1, 0, null],
    'contains-answer': [1, 0, null],
    'format-pattern': [1, 0],
    length: [1, 0],
    'json-valid': [1, 0.5, 0],
  };
  test.each(Object.keys(samples))(
    'the reward %s that comes along does what it says, in its sandbox',
    async (id) => {
      const { code } = await store.get(id);
      const reward = await scoring.settle({ language: 'typescript' as const, code, params: {} });
      const key = id as keyof typeof samples;
      const scored = await scoring.score({ ...reward, samples: samples[key], seed: 0, step: 0 });
      expect(scored.map(({ reward }) => reward)).toEqual(wanted[key]);
    },
  );
});
