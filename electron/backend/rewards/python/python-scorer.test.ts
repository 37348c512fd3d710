import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { Scored } from '../contract';
import { record, records } from '../testing';
import { findPython } from './find-python';
import { PythonScorer } from './python-scorer';

const host = 'resources/python/reward_host.py';
const scorer = new PythonScorer({ host, limit: 5000, trusted: () => false });
afterAll(() => scorer.close());
const { confined } = await scorer.state();

const score = (code: string, samples = records(4)): Promise<Scored[]> =>
  scorer.score({ code, samples, seed: 1, step: 2 });
const rewards = (scored: Scored[]) => scored.map(({ reward }) => reward);
const statuses = (scored: Scored[]) => scored.map(({ status }) => status);
/** Misbehaves on the sample "1", answers 1 on the others. */
const onOne = (body: string) =>
  `import os, sys, time\ndef reward(completion):\n    if completion == '1':\n        ${body}\n    return 1\n`;

test('the Python that was found has a name and a version', async () => {
  const { python, closed, reasons } = await scorer.state();
  expect(python?.version).toMatch(/^3\./);
  console.info(`${python?.path} ${python?.version}: closed ${closed.join(', ')} ${reasons.join('; ')}`);
});

describe.runIf(confined)('a confined reward in Python', () => {
  test('as TRL calls it: keyword lists, one entry a sample, and the row as columns', async () => {
    const code = `def right_or_not(prompts, completions, solution, **kwargs):
    assert set(kwargs) >= {'completion_ids', 'trainer_state'}, sorted(kwargs)
    return [None if s is None else float(c == s) for c, s in zip(completions, solution)]`;
    const rows = [{ solution: '0' }, { solution: 'x' }, {}, { solution: '3' }];
    const scored = await score(
      code,
      records(4).map((sample, k) => ({ ...sample, row: rows[k]! })),
    );
    expect(rewards(scored)).toEqual([1, 0, null, 1]);
    expect(statuses(scored)).toEqual(['ok', 'ok', 'abstain', 'ok']);
  });

  test('as TRL calls it on conversations: a completion is a list of messages', async () => {
    const prompt = [{ role: 'user', content: 'p' }];
    const samples = [
      record('c', { row: { prompt }, messages: [...prompt, { role: 'assistant', content: 'c' }] }),
    ];
    const code = `def reward(prompts, completions, **kwargs):
    return [c[0]['content'] == 'c' and p[-1]['content'] == 'p' for p, c in zip(prompts, completions)]`;
    expect(rewards(await score(code, samples))).toEqual([1]);
  });

  test('one sample a call, by name; or one record, as AReno calls it', async () => {
    const samples = [record('c', { answer: '7', row: { level: 3 }, tokens: [4, 5] })];
    const named = `def reward(completion, answer, tokens, level):\n    return len(tokens) + level if answer == '7' else 0`;
    expect(rewards(await score(named, samples))).toEqual([5]);
    const areno = `def reward_fn(record):\n    return float(record.answer == '7' and record.source_record['level'] == 3)`;
    expect(rewards(await score(areno, samples))).toEqual([1]);
  });

  test.each([
    ['a string', "return '1'", 'wrong_type', /of type str/],
    ['NaN', "return float('nan')", 'nonfinite', /nan/],
    ['infinity', "return float('inf')", 'nonfinite', /inf/],
    ['more than a float holds', 'return 1e200', 'nonfinite', /beyond/],
    ['an error', "raise ValueError('no luck')", 'error', /ValueError: no luck \(line 4\)/],
    ['leaving the interpreter', 'sys.exit(0)', 'error', /SystemExit/],
    ['deep recursion', 'f = lambda: f() + 1; f()', 'error', /RecursionError/],
    ['too much memory', 'x = bytearray(64 << 30)', 'error', /out of memory/],
    ['ending the process', 'os._exit(0)', 'killed', /its process ended \(code 0\)/],
    ['a crash', 'import ctypes; ctypes.string_at(0)', 'killed', /SIGSEGV/],
    ['frames of its own', "os.write(4, b'xxxxxxxxxxxxxxxx')", 'killed', /broke the protocol/],
    ['an endless loop', 'while True: pass', 'timeout', /5 s/],
    ['a loop inside C', '9 ** 9 ** 9 ** 9', 'timeout', /5 s/],
  ])(
    '%s is charged to its own sample alone',
    async (_, body, status, message) => {
      const scored = await score(onOne(body), records(3));
      expect(statuses(scored)).toEqual(['ok', status, 'ok']);
      expect(rewards(scored)).toEqual([1, null, 1]);
      expect(scored[1]!.error).toMatch(message);
    },
    60_000,
  );

  test.each([
    ['too few', 'return [1]', /1 rewards for 4 samples/],
    ['too many', 'return [1] * 5', /5 rewards for 4 samples/],
    ['one number', 'return 1', /answers with a list/],
    ['an error', "raise KeyError('x')", /KeyError/],
  ])('a batch with %s fails as a whole, and is never spread over the samples', async (_, body, message) => {
    const scored = await score(`def reward(completions, **columns):\n    ${body}`);
    expect(rewards(scored)).toEqual([null, null, null, null]);
    for (const { error } of scored) expect(error).toMatch(message);
  });

  test('what it prints is no part of its answer', async () => {
    const code = `import sys\ndef reward(completion):\n    print('x' * 100000); sys.stderr.write('y'); return 2`;
    expect(rewards(await score(code, records(3)))).toEqual([2, 2, 2]);
  });

  test('chance repeats with (seed, step, index)', async () => {
    const code = 'import random\ndef reward(completion):\n    return random.random()';
    const first = rewards(await score(code, records(3)));
    expect(rewards(await score(code, records(3)))).toEqual(first);
    expect(new Set(first).size).toBe(3);
  });

  test.each([
    ['syntax', 'def reward(completion)\n    return 1', 1, /expected ':'/],
    ['a name', 'x = 1\ny = nowhere\ndef reward(completion): return 1', 2, /NameError/],
    ['no function', 'x = 1', 1, /there is no "def reward/],
    ['an odd signature', 'def reward(a, b): return 1', 1, /must take completions/],
    ['async', 'async def reward(completion): return 1', 1, /leave out async/],
    [
      'a module that is missing',
      'import torch_of_the_moon\ndef reward(completion): return 1',
      1,
      /ModuleNotFound/,
    ],
  ])('a mistake in %s has its line', async (_, code, line, message) => {
    const {
      mistakes: [mistake],
    } = await scorer.inspect(code);
    expect(mistake).toMatchObject({ line, message: expect.stringMatching(message) });
  });
});

describe.runIf(confined)('a reward in Python cannot', () => {
  const tries = async (body: string): Promise<string | undefined> => {
    const code = `import os, socket, subprocess, ctypes, signal\ndef reward(completion):\n    ${body}\n    return 1\n`;
    const [only] = await score(code, records(1));
    return only!.status === 'ok' ? 'DONE' : only!.error;
  };

  test.each([
    ['read the password file', "open('/etc/passwd').read()"],
    ['read the home folder', `os.listdir(${JSON.stringify(homedir())})`],
    ['leave its folder by ..', "os.listdir('..')"],
    ['write elsewhere', `open(${JSON.stringify(join(tmpdir(), 'atelier-escape'))}, 'w')`],
    ['follow its own link', "os.symlink('/etc/passwd', 'here'); open('here').read()"],
    ['see other processes', "os.listdir('/proc')"],
    ['read the environment of its parent', "open(f'/proc/{os.getppid()}/environ').read()"],
    ['reach the network', "socket.create_connection(('127.0.0.1', 9), 1)"],
    ['send a datagram', 'socket.socket(socket.AF_INET, socket.SOCK_DGRAM)'],
    ['open a local socket', 'socket.socket(socket.AF_UNIX)'],
    ['fork', 'os.fork()'],
    ['run a program', "subprocess.run(['true'])"],
    ['replace itself', "os.execv('/bin/true', ['true'])"],
    ['signal its parent', 'os.kill(os.getppid(), signal.SIGTERM)'],
    ['raise its limits', 'import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, 1 << 40))'],
    ['change rights of files', "os.chmod('/tmp', 0o777)"],
    ['get a new user namespace', 'ctypes.CDLL(None, use_errno=True).unshare(0x10000000) and 1 / 0'],
    ['trace its parent', 'ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) and 1 / 0'],
    ['fill the disk', "open('big', 'wb').write(bytes(65 << 20))"],
  ])('%s', async (_, body) => {
    expect(await tries(body)).toMatch(
      /PermissionError|FileNotFoundError|OSError|ValueError|ZeroDivisionError|SIGXFSZ/,
    );
  });

  test('use threads: it can', async () => {
    expect(
      await tries('import threading; t = threading.Thread(target=len, args=("",)); t.start(); t.join()'),
    ).toBe('DONE');
  });

  test('see an environment', async () => {
    expect(await tries("assert 'PATH' not in os.environ and len(os.environ) < 10")).toBe('DONE');
  });
});

test('where it is not confined it runs only by consent, code by code', async () => {
  // a host script that proves nothing
  const folder = await mkdtemp(join(tmpdir(), 'atelier-open-python-'));
  const open = join(folder, 'host.py');
  await writeFile(
    open,
    `import json, os, struct\nd = json.dumps(dict(kind='ready', version='3', closed=[], reasons=['of the test'])).encode()
os.write(4, struct.pack('<I', len(d)) + d)\nos.read(3, 1)\n`,
  );
  const careful = new PythonScorer({ host: open, trusted: () => false });
  await expect(careful.inspect('def reward(completion): return 1')).rejects.toMatchObject({
    code: 'forbidden',
    message: expect.stringContaining('of the test'),
  });
  await careful.close();
  await rm(folder, { recursive: true });
});

test('without Python it says so, and what to do', async () => {
  const none = new PythonScorer({ host, find: () => findPython('/no/such/python'), trusted: () => true });
  await expect(none.inspect('def reward(completion): return 1')).rejects.toMatchObject({
    code: 'unsupported',
    hint: expect.stringContaining('ATELIER_PYTHON'),
  });
});

test('a cancelled batch ends its process, and no folder stays', async () => {
  const folders = async () => (await readdir(tmpdir())).filter((name) => name.startsWith('atelier-python-'));
  const before = await folders();
  const fresh = async () => (await folders()).filter((name) => !before.includes(name));
  const other = new PythonScorer({ host, limit: 60_000, trusted: () => true });
  const abort = new AbortController();
  const endless = other.score(
    { code: 'def reward(completion):\n    while True: pass', samples: records(2), seed: 0, step: 0 },
    abort.signal,
  );
  // once its interpreter works
  await expect.poll(fresh, { timeout: 20_000 }).not.toEqual([]);
  abort.abort();
  await expect(endless).rejects.toBeDefined();
  await other.close();
  await expect.poll(fresh, { timeout: 20_000 }).toEqual([]);
}, 60_000);
