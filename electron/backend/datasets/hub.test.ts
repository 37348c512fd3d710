import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { FetchItem } from '../../../shared/contract/datasets';
import { Roots } from '../places';
import { valuePath } from './values';
import { parseReference } from './hub-reference';
import { DatasetRegistry } from './registry';

const bytes = readFileSync(valuePath('snappy.parquet'));
const sha = 'c'.repeat(40);
const forever = new AbortController().signal;

/** What the Hub answers with for one repository, and what it was asked. */
let files: { path: string; body: Buffer; oid: string }[];
let asked: { url: string; authorization: string | undefined; range: string | undefined }[];
let answer: (request: IncomingMessage, response: ServerResponse) => boolean;
let hub: Server;
let elsewhere: Server;
let registry: DatasetRegistry;

const oid = (body: Buffer) => createHash('sha256').update(body).digest('hex');
const parquet = (path: string) => ({ path, body: bytes, oid: oid(bytes) });
const address = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

beforeEach(async () => {
  files = ['main/train', 'main/test', 'socratic/train'].map((part) => parquet(`${part}/0000.parquet`));
  asked = [];
  answer = () => false;
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const url = request.url!;
    const { authorization, range } = request.headers;
    asked.push({ url, authorization, range });
    if (answer(request, response)) return;
    const base = '/api/datasets/openai/gsm8k';
    if (url === `${base}/revision/refs%2Fconvert%2Fparquet`)
      return void response.end(JSON.stringify({ sha }));
    if (url === `${base}/tree/${sha}?recursive=true`) {
      // in two pages
      response.setHeader('link', `<${address(hub)}${base}/tree/${sha}?recursive=true&cursor=x>; rel="next"`);
      return void response.end(JSON.stringify(files.slice(0, 1).map(entry)));
    }
    if (url === `${base}/tree/${sha}?recursive=true&cursor=x`) {
      const readme = { type: 'file', path: 'README.md', size: 3 };
      return void response.end(JSON.stringify([readme, ...files.slice(1).map(entry)]));
    }
    const file = files.find(({ path }) => url === `/datasets/openai/gsm8k/resolve/${sha}/${path}`);
    if (!file) return void response.writeHead(404).end();
    const from = range === undefined ? 0 : Number(/bytes=(\d+)-/.exec(range)![1]);
    if (from > 0) {
      response.writeHead(206, {
        'content-range': `bytes ${from}-${file.body.length - 1}/${file.body.length}`,
      });
    }
    response.end(file.body.subarray(from));
  };
  hub = createServer(serve);
  elsewhere = createServer(serve);
  await Promise.all(
    [hub, elsewhere].map((server) => new Promise<void>((done) => server.listen(0, '127.0.0.1', done))),
  );
  const home = mkdtempSync(join(tmpdir(), 'atelier-hub-'));
  registry = new DatasetRegistry({ home, bundled: join(home, 'none'), roots: new Roots(null) });
  vi.stubEnv('HF_ENDPOINT', address(hub));
  vi.stubEnv('HF_TOKEN', 'hf_secret');
});

const entry = ({ path, body, oid: sum }: (typeof files)[number]) => ({
  type: 'file',
  path,
  size: body.length,
  lfs: { oid: sum },
});

afterEach(() => {
  vi.unstubAllEnvs();
  for (const server of [hub, elsewhere]) {
    server.closeAllConnections();
    server.close();
  }
});

async function fetched(reference: string): Promise<FetchItem[]> {
  const items: FetchItem[] = [];
  for await (const item of registry.fetch(reference, forever)) items.push(item);
  return items;
}

const downloads = () => asked.filter(({ url }) => url.includes('/resolve/'));

describe('a reference', () => {
  test.each([
    ['gsm8k', { repo: 'gsm8k', config: null, split: null }],
    ['gsm8k:main:test', { repo: 'gsm8k', config: 'main', split: 'test' }],
    ['openai/gsm8k:main', { repo: 'openai/gsm8k', config: 'main', split: null }],
  ])('%s', (text, reference) => expect(parseReference(text)).toEqual(reference));

  test.each([
    '',
    'a:b:c:d',
    'a/b/c',
    '../x',
    'a/..',
    'a/b:../c',
    'a/b:c/d',
    'a/b:',
    'https://evil.example/a',
    'a/b?x',
    'a b/c',
  ])('%j is none', (text) => expect(() => parseReference(text)).toThrow('is no reference'));
});

test('is listed with its sizes, all pages of it', async () => {
  expect(await registry.lookUp('openai/gsm8k', forever)).toMatchObject({
    commit: sha,
    configs: [
      {
        name: 'main',
        splits: [
          { name: 'train', files: 1, bytes: bytes.length },
          { name: 'test', files: 1, bytes: bytes.length },
        ],
      },
      { name: 'socratic' },
    ],
  });
});

test('main is meant where no config is named; its splits become data sets, one held out from the other', async () => {
  const items = await fetched('openai/gsm8k');
  const last = items.at(-1)!;
  if (last.kind !== 'done') throw new Error('it did not end');
  expect(last.datasets).toMatchObject([
    {
      id: 'gsm8k-main-train',
      source: 'hub',
      reference: 'openai/gsm8k:main',
      rows: 10,
      heldOut: 'gsm8k-main-test',
    },
    { id: 'gsm8k-main-test', split: 'test' },
  ]);
  expect(items[0]).toMatchObject({ kind: 'progress', total: 2 * bytes.length });
  expect(downloads()).toHaveLength(2);
  await fetched('openai/gsm8k:main:train');
  expect(downloads()).toHaveLength(2);
  expect(await registry.list()).toHaveLength(2);
});

test('a download that broke off goes on where it was', async () => {
  answer = ({ url }, response) => {
    if (!url!.includes('/resolve/') || downloads().length > 1) return false;
    response.writeHead(200, { 'content-length': bytes.length });
    response.write(bytes.subarray(0, 3000), () => response.destroy());
    return true;
  };
  await expect(fetched('openai/gsm8k:main:train')).rejects.toThrow();
  const [, again] = [await fetched('openai/gsm8k:main:train'), downloads()[1]!];
  expect(again.range).toBe('bytes=3000-');
  expect(await registry.get('gsm8k-main-train')).toMatchObject({ rows: 10 });
});

test('a host that sends all of it again is understood', async () => {
  answer = ({ url }, response) => {
    if (!url!.includes('/resolve/')) return false;
    if (downloads().length > 1) return (response.end(bytes), true);
    response.writeHead(200, { 'content-length': bytes.length });
    response.write(bytes.subarray(0, 3000), () => response.destroy());
    return true;
  };
  await expect(fetched('openai/gsm8k:main:train')).rejects.toThrow();
  await fetched('openai/gsm8k:main:train');
  expect(await registry.get('gsm8k-main-train')).toMatchObject({ rows: 10 });
});

test('bytes that are not those announced are thrown away', async () => {
  files[0]!.oid = 'f'.repeat(64);
  await expect(fetched('openai/gsm8k:main:train')).rejects.toMatchObject({ code: 'invalid_file' });
  files[0]!.oid = oid(bytes);
  await fetched('openai/gsm8k:main:train');
  expect(downloads().map(({ range }) => range)).toEqual([undefined, undefined]);
});

test('the token goes to the Hub, and to no host that it sends on to', async () => {
  answer = ({ url, headers }, response) => {
    if (!url!.includes('/resolve/') || headers.host !== new URL(address(hub)).host) return false;
    response.writeHead(302, { location: `${address(elsewhere)}${url}` }).end();
    return true;
  };
  await fetched('openai/gsm8k:main:train');
  expect(downloads().map(({ authorization }) => authorization)).toEqual(['Bearer hf_secret', undefined]);
});

test.each([
  ['openai/gsm8k:none', 'not_found', 'no config "none"'],
  ['openai/gsm8k:main:dev', 'not_found', 'no split "dev"'],
  ['openai/other', 'not_found', 'no Parquet copy'],
])('%s is answered with what there is', async (reference, code, message) => {
  await expect(fetched(reference)).rejects.toMatchObject({
    code,
    message: expect.stringContaining(message) as string,
  });
});

test('several configs and none that is meant, a refusal, and paths that lead out', async () => {
  files = ['a/train', 'b/train'].map((part) => parquet(`${part}/0000.parquet`));
  await expect(fetched('openai/gsm8k')).rejects.toThrow('several configs: a, b');
  files = [parquet('../x/train/0000.parquet'), parquet('a/../0000.parquet'), parquet('a/b\\c/0000.parquet')];
  await expect(fetched('openai/gsm8k')).rejects.toThrow('no Parquet copy');
  answer = (_, response) => (response.writeHead(401).end(), true);
  await expect(fetched('openai/gsm8k')).rejects.toMatchObject({ code: 'forbidden' });
});

test('of a large data set the Hub copies the beginning: what is fetched says so', async () => {
  files = ['main/partial-train', 'main/test'].map((part) => parquet(`${part}/0000.parquet`));
  const done = (await fetched('openai/gsm8k:main')).at(-1)!;
  if (done.kind !== 'done') throw new Error('the fetch did not end');
  const notes = Object.fromEntries(done.datasets.map(({ split, notes: told }) => [split, told]));
  expect(notes).toEqual({ train: [expect.stringContaining('the beginning of a larger data set')], test: [] });
});
