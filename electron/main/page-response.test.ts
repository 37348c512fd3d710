import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { PageFiles } from '../page';
import { decidePage, pageHandler } from './page-response';

let files: PageFiles;
let root: string;
beforeAll(() => {
  const dir = mkdtempSync(join(tmpdir(), 'atelier-page-'));
  root = join(dir, 'app');
  mkdirSync(join(root, 'assets'), { recursive: true });
  mkdirSync(join(dir, 'app-evil'));
  writeFileSync(join(root, 'index.html'), '<!doctype html>');
  writeFileSync(join(root, 'assets/page.js'), '1');
  writeFileSync(join(root, 'assets/notes.txt'), 'not a page file');
  writeFileSync(join(dir, 'app-evil/x.js'), '1');
  writeFileSync(join(dir, 'secret.js'), '1');
  files = new PageFiles(root);
});

const status = (url: string, method = 'GET') => {
  const decision = decidePage(files, method, url);
  return typeof decision === 'number' ? decision : 200;
};

describe('the app: scheme', () => {
  it('serves the page, its assets and its routes under the CSP', async () => {
    const answer = await pageHandler(files)(new Request('app://atelier/runs/demo?step=3'));
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toContain('text/html');
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(await answer.text()).toBe('<!doctype html>');
    expect(decidePage(files, 'GET', 'app://atelier/assets/page.js')).toMatchObject({
      path: join(root, 'assets/page.js'),
    });
  });

  it.each([
    ['app://atelier/assets/missing.js', 404],
    ['app://atelier/assets/notes.txt', 404],
    ['app://atelier/%2e%2e/secret.js', 404],
    ['app://atelier/..%2fsecret.js', 404],
    ['app://atelier/..%2fapp-evil/x.js', 404],
    ['app://atelier/%252e%252e/secret.js', 404],
    ['app://atelier/..%5csecret.js', 404],
    ['app://atelier/assets/page.js%00', 404],
    ['app://atelier/ASSETS/page.js', 404],
    ['app://atelier//host/share.js', 404],
    ['app://atelier/%E0%A4%A.js', 404],
    ['app://atelier.evil/index.html', 403],
    ['app://evil@atelier/index.html', 403],
    ['app://atelier:80/index.html', 403],
    ['file:///etc/passwd', 403],
    ['https://atelier/', 403],
    ['nonsense', 403],
  ])('%s is %i', (url, expected) => expect(status(url)).toBe(expected));

  it('refuses every method but GET and HEAD', async () => {
    expect(status('app://atelier/', 'HEAD')).toBe(200);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
      expect(status('app://atelier/', method)).toBe(405);
  });
});
