import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { createClient, encodeMessage, serve, socketPort } from '../../../shared/rpc';
import { call, stream } from '../../../shared/rpc/verb';
import { Access, installToken } from './access';
import { leaveCode } from './left-codes';
import { makeSecret } from './secret';
import { startWebServer, type WebServer } from './web-server';

let home: string;
let server: WebServer;
let access: Access;
let token: string;
const contract = {
  demo: {
    echo: call(z.object({ text: z.string() }), z.string()),
    flood: stream(z.object({}), z.string()),
  },
};
const megabyte = 'x'.repeat(1024 * 1024);
/** Items that the flood has made; settles once the flood was told to stop. */
let flooded = 0;
let floodEnded: () => void = () => undefined;
async function* flood() {
  try {
    for (;;) {
      flooded++;
      yield megabyte;
    }
  } finally {
    floodEnded();
  }
}

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'atelier-web-'));
  const pages = join(home, 'pages');
  mkdirSync(join(pages, 'assets'), { recursive: true });
  writeFileSync(join(pages, 'index.html'), '<title>page</title>');
  writeFileSync(join(pages, 'assets', 'a.js'), 'export {}');
  writeFileSync(join(pages, 'secret.key'), 'key');
  access = new Access(home);
  token = installToken(home);
  server = await startWebServer({
    port: 0,
    access,
    pages,
    onPort: (port) =>
      serve(contract, { demo: { echo: ({ text }) => text, flood } }, port, { patienceMs: 200 }),
  });
});
afterAll(async () => {
  await server.close();
  rmSync(home, { recursive: true });
});

/** Writes bytes, reads all that comes until the end (or the first answer, where the connection stays). */
function raw(text: string | Buffer, host = '127.0.0.1'): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(server.port, host);
    let answer = '';
    socket.setEncoding('latin1');
    socket.on('data', (data: string) => {
      answer += data;
      if (answer.startsWith('HTTP/1.1 101')) socket.destroy();
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
    socket.write(text);
  });
}
const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0);

type Kind = 'page' | 'session' | 'upgrade' | 'preflight';
function request(kind: Kind, headers: string[]): string {
  const upgrade = [
    'Upgrade: websocket',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    'Sec-WebSocket-Version: 13',
  ];
  const body = '{"code":"wrong"}';
  const [line, extra, payload] = {
    page: ['GET / HTTP/1.1', ['Connection: close'], ''],
    session: [
      'POST /api/session HTTP/1.1',
      ['Connection: close', 'Content-Type: application/json', `Content-Length: ${body.length}`],
      body,
    ],
    upgrade: ['GET /api/ws HTTP/1.1', ['Connection: Upgrade', ...upgrade], ''],
    preflight: [
      'OPTIONS /api/session HTTP/1.1',
      ['Connection: close', 'Access-Control-Request-Method: POST'],
      '',
    ],
  }[kind] as [string, string[], string];
  return [line, ...headers, ...extra, '', payload].join('\r\n');
}

describe('the gate', () => {
  const good = () => `127.0.0.1:${server.port}`;
  const hosts: [string, () => string[], boolean][] = [
    ['127.0.0.1', () => [`Host: ${good()}`], true],
    ['localhost', () => [`Host: localhost:${server.port}`], true],
    ['[::1]', () => [`Host: [::1]:${server.port}`], true],
    ['absent', () => [], false],
    ['doubled', () => [`Host: ${good()}`, `Host: ${good()}`], false],
    ['good, then evil', () => [`Host: ${good()}`, 'Host: evil.example'], false],
    ['evil', () => ['Host: evil.example'], false],
    ['a suffix', () => [`Host: localhost.evil:${server.port}`], false],
    ['nip.io', () => [`Host: 127.0.0.1.nip.io:${server.port}`], false],
    ['mapped v6', () => [`Host: [::ffff:127.0.0.1]:${server.port}`], false],
    ['a trailing dot', () => [`Host: localhost.:${server.port}`], false],
    ['upper case', () => [`Host: LOCALHOST:${server.port}`], false],
    ['another port', () => [`Host: 127.0.0.1:${server.port + 1}`], false],
    ['no port', () => ['Host: 127.0.0.1'], false],
    ['0.0.0.0', () => [`Host: 0.0.0.0:${server.port}`], false],
    ['credentials', () => [`Host: x@127.0.0.1:${server.port}`], false],
  ];
  const origins: [string, () => string[], 'ours' | 'none' | 'foreign'][] = [
    ['ours', () => [`Origin: http://${good()}`], 'ours'],
    ['absent', () => [], 'none'],
    ['absent, with the token', () => [`Authorization: Bearer ${token}`], 'ours'],
    ['absent, with a wrong token', () => [`Authorization: Bearer ${makeSecret()}`], 'none'],
    ['null', () => ['Origin: null'], 'foreign'],
    ['null, with the token', () => ['Origin: null', `Authorization: Bearer ${token}`], 'foreign'],
    ['foreign', () => ['Origin: https://evil.example'], 'foreign'],
    ['another port', () => [`Origin: http://127.0.0.1:${server.port + 1}`], 'foreign'],
    ['https', () => [`Origin: https://${good()}`], 'foreign'],
    ['a prefix of ours', () => [`Origin: http://${good()}.evil.example`], 'foreign'],
    ['doubled', () => [`Origin: http://${good()}`, 'Origin: https://evil.example'], 'foreign'],
  ];
  /** 403 from the session route itself means: past the gate, the code is wrong. */
  const passed: Record<Kind, number> = { page: 200, session: 403, upgrade: 101, preflight: 404 };

  for (const [hostName, host, known] of hosts) {
    it(`with Host ${hostName}: every origin, request, upgrade and preflight`, async () => {
      for (const [originName, origin, whose] of origins) {
        for (const kind of ['page', 'session', 'upgrade', 'preflight'] as const) {
          const answer = await raw(request(kind, [...host(), ...origin()]));
          const what = `${kind}, Host ${hostName}, Origin ${originName}`;
          if (!known) {
            // Node itself answers 400 where Host is absent
            expect([400, 421], what).toContain(statusOf(answer));
          } else if (whose === 'foreign' || (whose === 'none' && kind !== 'page')) {
            expect(statusOf(answer), what).toBe(403);
            if (kind === 'session') expect(answer, what).not.toContain('code');
          } else {
            expect(statusOf(answer), what).toBe(passed[kind]);
            if (kind === 'session') expect(answer, what).toContain('This code is not valid');
          }
          expect(answer.toLowerCase(), what).not.toContain('access-control-allow');
        }
      }
    });
  }

  it('answers on ::1 too, where that exists', async () => {
    const answer = await raw(request('page', [`Host: [::1]:${server.port}`]), '::1').catch(
      (error: NodeJS.ErrnoException) => error.code,
    );
    if (answer === 'EADDRNOTAVAIL' || answer === 'ECONNREFUSED') return;
    expect(statusOf(answer as string)).toBe(200);
  });

  it('takes no state change as plain text, as a form would send it', async () => {
    const code = makeSecret();
    access.allowCode(code);
    const body = JSON.stringify({ code });
    const answer = await raw(
      `POST /api/session HTTP/1.1\r\nHost: ${good()}\r\nOrigin: http://${good()}\r\nContent-Type: text/plain\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(statusOf(answer)).toBe(415);
    expect(access.exchange(code)).toBe(token);
  });
});

describe('limits', () => {
  const head = () =>
    `POST /api/session HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nAuthorization: Bearer ${token}\r\n` +
    `Content-Type: application/json\r\n`;

  it('a body of 1 MiB is read, one byte more is not', async () => {
    const body = (bytes: number) =>
      `${head()}Connection: close\r\nContent-Length: ${bytes}\r\n\r\n"${'x'.repeat(bytes - 2)}"`;
    expect(statusOf(await raw(body(1024 * 1024)))).toBe(403);
    expect(statusOf(await raw(body(1024 * 1024 + 1)))).toBe(413);
  });

  it('chunks without end are cut', async () => {
    const socket = connect(server.port, '127.0.0.1');
    let answer = '';
    socket.on('data', (data) => (answer += String(data)));
    socket.on('error', () => undefined);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(`${head()}Transfer-Encoding: chunked\r\n\r\n`);
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const pump = () => {
      while (!socket.destroyed && socket.write(chunk));
      if (!socket.destroyed) socket.once('drain', pump);
    };
    pump();
    await closed;
    expect(statusOf(answer)).toBe(413);
  });

  it('10,000 levels of JSON are an answer, not a crash', async () => {
    const body = '['.repeat(10_000) + ']'.repeat(10_000);
    const answer = await raw(`${head()}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    expect([400, 403]).toContain(statusOf(answer));
  });

  it('200 half-open sockets do not keep a normal request waiting', async () => {
    const sockets: Socket[] = [];
    for (let k = 0; k < 200; k++) {
      const socket = connect(server.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write('GET / HTTP/1.1\r\nHost: ');
      sockets.push(socket);
    }
    await Promise.all(sockets.filter((socket) => socket.connecting).map((socket) => once(socket, 'connect')));
    const start = performance.now();
    expect(statusOf(await raw(request('page', [`Host: 127.0.0.1:${server.port}`])))).toBe(200);
    expect(performance.now() - start).toBeLessThan(1000);
    for (const socket of sockets) socket.destroy();
  });
});

describe('the page', () => {
  const get = (path: string) =>
    raw(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nConnection: close\r\n\r\n`);

  it('is served with the policy on every answer', async () => {
    for (const path of ['/', '/runs/some-run', '/assets/a.js', '/nope.js']) {
      const answer = await get(path);
      expect(answer).toContain("default-src 'none'");
      expect(answer).toContain('X-Content-Type-Options: nosniff');
      expect(answer).toContain('Cross-Origin-Resource-Policy: same-origin');
    }
    expect(await get('/runs/some-run')).toContain('<title>page</title>');
    expect(await get('/assets/a.js')).toContain('immutable');
  });

  it('has no way out of its folder', async () => {
    const named = ['/..%5ctoken.html', '/assets/..%2f..%2ftoken.html', '/%00.html', '//etc/passwd.html'];
    for (const path of [
      ...named,
      '/etc/passwd.json',
      '/secret.key',
      '/C:/x.html',
      '/assets\\..\\index.html',
    ]) {
      expect(statusOf(await get(path)), path).toBe(404);
    }
    // no extension: a route of the page, whatever it looks like
    for (const path of ['/../token', '/%2e%2e/token', '/../../../../etc/passwd', '/token']) {
      expect(await get(path), path).toContain('<title>page</title>');
    }
  });
});

describe('who comes in', () => {
  const open = (origin = `http://127.0.0.1:${server.port}`) =>
    new WebSocket(`ws://127.0.0.1:${server.port}/api/ws`, { origin });

  it('has the token, which its owner alone can read', () => {
    expect(readFileSync(join(home, 'token'), 'utf8')).toBe(token);
    expect(statSync(join(home, 'token')).mode & 0o777).toBe(0o600);
    expect(installToken(home)).toBe(token);
  });

  it('exchanges a code once', async () => {
    const code = makeSecret();
    access.allowCode(code);
    const ask = () =>
      fetch(`http://127.0.0.1:${server.port}/api/session`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
        body: JSON.stringify({ code }),
      });
    expect(await (await ask()).json()).toEqual({ token });
    expect((await ask()).status).toBe(403);
  });

  it('speaks over the socket after the token', async () => {
    const socket = open();
    await once(socket, 'open');
    const port = socketPort(socket as never);
    void port.post({ auth: token });
    expect(await createClient(contract, port).demo.echo({ text: 'hi' })).toBe('hi');
    socket.close();
  });

  it('is shut out with 4401 otherwise', async () => {
    for (const first of [
      { auth: makeSecret() },
      { auth: 7 },
      null,
      { t: 'call', id: 1, verb: 'demo.echo', input: {} },
    ]) {
      const socket = open();
      await once(socket, 'open');
      socket.send(encodeMessage(first));
      const [code] = (await once(socket, 'close')) as [number];
      expect(code).toBe(4401);
    }
  });

  it('sends no message above 1 MiB, and none that is not of the protocol', async () => {
    for (const data of [Buffer.alloc(1024 * 1024 + 1), Buffer.from([0xc1]), 'text']) {
      const socket = open();
      await once(socket, 'open');
      socket.send(encodeMessage({ auth: token }));
      socket.send(data);
      const [code] = (await once(socket, 'close')) as [number];
      expect([1007, 1009]).toContain(code);
    }
  });
});

describe('a page that never reads', () => {
  it('is not fed without end', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${server.port}/api/ws`, {
      origin: `http://127.0.0.1:${server.port}`,
    });
    await once(socket, 'open');
    const ended = new Promise<void>((resolve) => (floodEnded = resolve));
    socket.send(encodeMessage({ auth: token }));
    socket.pause();
    socket.send(encodeMessage({ t: 'call', id: 1, verb: 'demo.flood', input: {} }));
    await ended;
    // what the network took, four megabytes waiting, and the one that was too much
    expect(flooded).toBeLessThan(40);
    socket.terminate();
  });
});

describe('a port in use', () => {
  it('is said with the way out', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    await expect(
      startWebServer({ port, access, pages: home, onPort: () => undefined }),
    ).rejects.toMatchObject({
      code: 'conflict',
      message: `Port ${port} is in use.`,
      hint: expect.stringContaining('--port'),
    });
    other.close();
  });
});

describe('a code left in the data folder', () => {
  it('is good once, and only for a while', () => {
    const code = leaveCode(home);
    expect(access.exchange(code)).toBe(token);
    expect(access.exchange(code)).toBeNull();
    const old = leaveCode(home);
    const [file] = readdirSync(join(home, 'codes'));
    expect(file).not.toContain(old);
    const hourAgo = new Date(Date.now() - 3_600_000);
    utimesSync(join(home, 'codes', file!), hourAgo, hourAgo);
    expect(access.exchange(old)).toBeNull();
    expect(readdirSync(join(home, 'codes'))).toEqual([]);
  });

  it('tells nothing of codes that were never left', () => {
    for (const code of ['', '../token', 'x'.repeat(10_000)]) expect(access.exchange(code)).toBeNull();
  });
});
