import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startCommand, temporaryHome } from '../testing';
import { rewardsCommand } from './rewards';

let home: string;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true });
});

/** What it prints, once it has ended well. */
async function rewards(...args: string[]): Promise<string> {
  let out = '';
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += String(text);
    return true;
  });
  try {
    expect(await rewardsCommand.run([...args, '--home', home, '--device', 'cpu'])).toBe(0);
    return out;
  } finally {
    stdout.mockRestore();
  }
}

function file(name: string, text: string): string {
  const path = join(home, name);
  writeFileSync(path, text);
  return path;
}
const judge = () =>
  file('kind.md', '---\nurl: https://judge.example/v1\nmodel: m\n---\nRate this: {{answer}}\nScore: N\n');
const access = () => readFileSync(join(home, 'reward-access.json'), 'utf8');

it('keeps a file as a reward, lists what each may reach, and removes it', async () => {
  expect(await rewards('add', judge(), '--name', 'Kind')).toBe('kind: Kind, judge\n');
  const listed = await rewards();
  expect(listed).toMatch(/^kind +judge +https:\/\/judge\.example +no +Kind$/m);
  expect(listed).toMatch(/^sums +typescript +nothing +yes +Right sum$/m);
  await rewards('remove', 'kind');
  expect(await rewards()).not.toContain('kind');
}, 60_000);

it('allows a judge by its address, and takes that back', async () => {
  expect(await rewards('allow', judge())).toBe('Prompts and answers may be sent to https://judge.example.\n');
  expect(JSON.parse(access())).toMatchObject({ judges: ['https://judge.example'] });
  expect(await rewards('deny', judge())).toContain('may not be sent');
  expect(JSON.parse(access())).toMatchObject({ judges: [] });
  expect(await rewards('allow', 'sums')).toContain('nothing to allow');
}, 60_000);

it('takes a key from the environment, and forgets it', async () => {
  vi.stubEnv('JUDGE_KEY', 'sk-set');
  expect(await rewards('key', judge(), '--env', 'JUDGE_KEY')).toBe(
    'Kept: the key of https://judge.example.\n',
  );
  expect(JSON.parse(access())).toMatchObject({ keys: { 'https://judge.example': 'sk-set' } });
  expect(statSync(join(home, 'reward-access.json')).mode & 0o777).toBe(0o600);
  expect(await rewards()).not.toContain('sk-set');
  await rewards('key', judge(), '--forget');
  expect(JSON.parse(access())).toMatchObject({ keys: {} });
}, 60_000);

it('takes a key from standard input, and shows it nowhere', async () => {
  const command = startCommand(home, ['rewards', 'key', judge()], { input: 'sk-piped\n' });
  expect(await command.ended).toEqual({
    code: 0,
    error: '',
    out: 'Kept: the key of https://judge.example.\n',
  });
  expect(JSON.parse(access())).toMatchObject({ keys: { 'https://judge.example': 'sk-piped' } });
}, 240_000);

it.each([
  [['key', 'kind.md', 'sk-argument'], /never an argument/],
  [['key', 'kind.md', '--env', 'UNSET_KEY'], /no UNSET_KEY/],
  [['key', 'sums', '--forget'], /Right sum is no judge/],
  [['allow', 'absent'], /no reward "absent"/],
  [['allow', 'bad.md'], /bad, line 1: a judge begins with/],
  [['allow', 'absent.py'], /absent\.py cannot be read/],
  [['add', 'notes.txt'], /ends in \.ts/],
  [['flub'], /"flub" is not known/],
])('says what is wrong with %j', async (args, message) => {
  judge();
  file('bad.md', 'no head');
  const given = args.map((text) => (/\.(md|py|txt)$/.test(text) ? join(home, text) : text));
  const error = await rewards(...given).catch((thrown: Error) => thrown.message);
  expect(error).toMatch(message);
  expect(error).not.toContain('sk-argument');
});
