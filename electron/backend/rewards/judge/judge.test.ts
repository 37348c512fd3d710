import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { AccessFile } from '../access-file';
import { record } from '../testing';
import { fill, readJudge, scoreIn } from './judge-file';
import { JudgeScorer } from './judge-scorer';

const KEY = 'sk-very-secret';
type Answer = (request: IncomingMessage, body: Asked, response: ServerResponse) => void;
interface Asked {
  model: string;
  temperature: number;
  max_tokens: number;
  messages: { role: string; content: string }[];
}

let answer: Answer;
let asked: { body: Asked; headers: IncomingMessage['headers']; url: string }[];
let address: string;
const server = createServer((request, response) => {
  let text = '';
  request.on('data', (chunk: Buffer) => (text += chunk.toString()));
  request.on('end', () => {
    const body = (text === '' ? {} : JSON.parse(text)) as Asked;
    asked.push({ body, headers: request.headers, url: request.url! });
    answer(request, body, response);
  });
});
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => (asked = []));

const says =
  (content: string): Answer =>
  (_request, _body, response) =>
    response.end(JSON.stringify({ choices: [{ message: { content } }] }));
const judge = (settings = '', prompt = 'Q {{prompt}} A {{answer}} R {{reference}}') =>
  `---\nurl: ${address}/v1\nmodel: tiny\n${settings}\n---\n${prompt}`;
const scorer = (more: Partial<ConstructorParameters<typeof JudgeScorer>[0]> = {}) =>
  new JudgeScorer({ allowed: () => true, key: () => KEY, backOff: 1, ...more });
const samples = [record('forty-two', { prompt: 'six times seven?', answer: '42' })];

describe('a judge', () => {
  test('is asked as OpenAI is, and its score is between 0 and 1', async () => {
    answer = says('It is right.\nScore: 7.5');
    const [scored] = await scorer().score({ code: judge(), samples });
    expect(scored).toMatchObject({ reward: 0.75, status: 'ok' });
    expect(asked[0]).toMatchObject({
      url: '/v1/chat/completions',
      body: {
        model: 'tiny',
        temperature: 0,
        max_tokens: 1024,
        messages: [{ role: 'user', content: 'Q six times seven? A forty-two R 42' }],
      },
    });
    expect(asked[0]!.headers.authorization).toBe(`Bearer ${KEY}`);
  });

  test('is tried again while it is busy, and no longer than its retries', async () => {
    answer = (...all) => {
      if (asked.length > 2) return says('8')(...all);
      all[2].writeHead(429, { 'Retry-After': '0' }).end('slow down');
    };
    expect((await scorer().score({ code: judge(), samples }))[0]).toMatchObject({ reward: 0.8 });
    asked = [];
    answer = (_request, _body, response) => response.writeHead(503).end(`for ${KEY}: overloaded`);
    const [scored] = await scorer().score({ code: judge('retries: 2'), samples });
    expect(scored).toMatchObject({ reward: null, status: 'error' });
    expect(scored!.error).toBe('the judge answered 503: for (key): overloaded (3 tries)');
    expect(asked).toHaveLength(3);
  });

  test.each([
    ['no score', says('Well done!'), 'error', /no score in what the judge said/],
    ['a score out of range', says('Score: 11'), 'error', /11 is not within 0 and 10/],
    [
      'no chat completion',
      (_a: unknown, _b: unknown, r: ServerResponse) => r.end('<html>'),
      'error',
      /no chat completion/,
    ],
    [
      'a refused key',
      (_a: unknown, _b: unknown, r: ServerResponse) => r.writeHead(401).end(),
      'error',
      /refused the key/,
    ],
    [
      'a way elsewhere',
      (_a: unknown, _b: unknown, r: ServerResponse) =>
        r.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end(),
      'error',
      /cannot be reached/,
    ],
    [
      'endless text',
      (_a: unknown, _b: unknown, r: ServerResponse) => {
        const more = () => r.write('x'.repeat(1 << 20), () => r.writableEnded || r.destroyed || more());
        more();
      },
      'error',
      /more than 4 MB/,
    ],
    ['silence', () => undefined, 'timeout', /did not answer within 1 s/],
  ] as [string, Answer, string, RegExp][])('%s is no reward, never 0', async (_, says_, status, words) => {
    answer = says_;
    const [scored] = await scorer().score({ code: judge('retries: 0\ntimeoutSeconds: 1'), samples });
    expect(scored).toMatchObject({ reward: null, status });
    expect(scored!.error).toMatch(words);
    expect(scored!.error).not.toContain(KEY);
  });

  test('keeps the order, with no more requests at once than it may', async () => {
    const open: (() => void)[] = [];
    let [seen, most] = [0, 0];
    answer = (_request, body, response) => {
      open.push(() =>
        response.end(JSON.stringify({ choices: [{ message: { content: body.messages[0]!.content } }] })),
      );
      most = Math.max(most, open.length);
      // none is answered before as many are open as may be, and one too many had time to come
      if (++seen === 10 || open.length === 3)
        setTimeout(() => open.splice(0).forEach((respond) => respond()), 5);
    };
    const many = Array.from({ length: 10 }, (_, k) => record(String(k)));
    const scored = await scorer().score({ code: judge('concurrency: 3', '{{answer}}'), samples: many });
    expect(scored.map(({ reward }) => reward)).toEqual(many.map((_, k) => k / 10));
    expect(most).toBe(3);
  });

  test('without a right answer to hold against has no opinion, and asks nobody', async () => {
    answer = says('3');
    expect((await scorer().score({ code: judge(), samples: [record('x')] }))[0]).toMatchObject({
      status: 'abstain',
    });
    expect(asked).toHaveLength(0);
  });

  test('sends nothing to an address that nobody allowed', async () => {
    answer = says('3');
    await expect(scorer({ allowed: () => false }).score({ code: judge(), samples })).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining(address),
    });
    expect(asked).toHaveLength(0);
  });

  test('is cancelled at once', async () => {
    const abort = new AbortController();
    answer = () => abort.abort();
    await expect(scorer().score({ code: judge(), samples }, abort.signal)).rejects.toMatchObject({
      code: 'cancelled',
    });
  });
});

describe('the file of a judge', () => {
  test.each([
    ['Just text', 1, /begins with its settings/],
    ['---\nurl: [\n---\n{{answer}}', 1, /not YAML/],
    ['---\nurl: ftp://x/v1\nmodel: a\n---\n{{answer}}', 2, /url: must be an address/],
    ['---\nurl: http://user:secret@x/v1\nmodel: a\n---\n{{answer}}', 2, /no name or password/],
    ['---\nurl: http://x/v1\n---\n{{answer}}', 1, /model/],
    ['---\nurl: http://x/v1\nmodel: a\nkey: sk\n---\n{{answer}}', 1, /key/],
    ['---\nurl: http://x/v1\nmodel: a\nleast: 3\nmost: 3\n---\n{{answer}}', 5, /above/],
    ['---\nurl: http://x/v1\nmodel: a\n---\nGrade {{answer}}\nof {{row}}', 6, /no \{\{row\}\}/],
    ['---\nurl: http://x/v1\nmodel: a\n---\nGrade {{prompt}}', 5, /must have \{\{answer\}\}/],
  ])('%s has its mistake', (code, line, words) => {
    expect(() => readJudge(code)).toThrow(words);
    try {
      readJudge(code);
    } catch (error) {
      expect((error as { details: unknown }).details).toEqual({ line });
    }
  });

  test('an answer that looks like a place stays text', () => {
    expect(fill('{{answer}} / {{reference}}', { answer: '{{reference}} $&', reference: '42' })).toBe(
      '{{reference}} $& / 42',
    );
  });

  test.each([
    ['Score: 7', 7],
    ['**Score:** 3\nlater Score: 4/10', 4],
    ['{"why": "ok", "score": 0.5}', 0.5],
    ['Rating: [[9]]', 9],
    [' 6 ', 6],
    ['<think>Score: 1</think>\nScore: -2', -2],
    ['I counted 3 mistakes in 5 lines', null],
    ['', null],
  ])('%j has the score %s', (text, score) => expect(scoreIn(text)).toBe(score));
});

describe('keys', () => {
  test('lie in a file of their own that only its owner reads', () => {
    const home = mkdtempSync(join(tmpdir(), 'atelier-access-'));
    const file = new AccessFile(home);
    file.setKey('https://judge.example', KEY);
    file.allow('judges', 'https://judge.example', true);
    const path = join(home, 'reward-access.json');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const again = new AccessFile(home);
    expect(again.key('https://judge.example')).toBe(KEY);
    expect(again.key('https://judge.example.evil')).toBeNull();
    expect(again.allowsJudge('https://judge.example')).toBe(true);
    again.setKey('https://judge.example', null);
    again.allow('judges', 'https://judge.example', false);
    expect(readFileSync(path, 'utf8')).not.toContain(KEY);
    expect(new AccessFile(home).allowsJudge('https://judge.example')).toBe(false);
    rmSync(home, { recursive: true });
  });

  test.each(['http://judge.example', 'judge.example', 'https://judge.example/v1', 'file:///etc'])(
    'are not taken for %s',
    (where) => {
      const home = mkdtempSync(join(tmpdir(), 'atelier-access-'));
      expect(() => new AccessFile(home).setKey(where, KEY)).toThrow(/unencrypted|not an address/);
      rmSync(home, { recursive: true });
    },
  );
});
