import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

it.each(['backend/utility', 'headless/web-child'])(
  '%s starts without the compiler that rewards need',
  (name) => {
    const bundle = readFileSync(new URL(`../../../dist/${name}.js`, import.meta.url), 'utf8');
    expect(bundle).toMatch(/^import .*"better-sqlite3"/m);
    expect(bundle).not.toMatch(/^import .*"(typescript|ts-blank-space)"/m);
  },
);
