import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { machSymbols, openMacSymbols } from './mach-o.mjs';

const folder = mkdtempSync(join(tmpdir(), 'atelier-mach-o-'));
afterAll(() => rmSync(folder, { recursive: true }));

const [UNDEFINED, DEFINED, LOCAL, DEBUG] = [0x01, 0x0f, 0x0e, 0x64];
const [NO_LIBRARY, FIRST_LIBRARY] = [0xfe, 1];

/** A file with one other load command, then its symbols: name, type, library. */
function machO(symbols: [name: string, type: number, library: number][]): Buffer {
  const header = Buffer.alloc(32);
  header.writeUInt32LE(0xfeedfacf, 0);
  header.writeUInt32LE(2, 16);
  const other = Buffer.alloc(16);
  other.writeUInt32LE(0x1b, 0);
  other.writeUInt32LE(16, 4);
  const entries = Buffer.alloc(16 * symbols.length);
  let names = '\0';
  symbols.forEach(([name, type, library], k) => {
    entries.writeUInt32LE(names.length, 16 * k);
    entries[16 * k + 4] = type;
    entries[16 * k + 7] = library;
    names += `${name}\0`;
  });
  const table = Buffer.alloc(24);
  [2, 24, 72, symbols.length, 72 + entries.length, names.length].forEach((word, k) =>
    table.writeUInt32LE(word, 4 * k),
  );
  return Buffer.concat([header, other, table, entries, Buffer.from(names, 'latin1')]);
}

function written(name: string, ...symbols: Parameters<typeof machO>[0]): string {
  const file = join(folder, name);
  writeFileSync(file, machO(symbols));
  return file;
}

test('symbols that others see or that it wants, with what the link knew of them', () => {
  expect(
    machSymbols(
      machO([
        ['_here', DEFINED, 0],
        ['_hidden', LOCAL, 0],
        ['_line', DEBUG, 0],
        ['_malloc', UNDEFINED, FIRST_LIBRARY],
        ['_wanted', UNDEFINED, NO_LIBRARY],
      ]),
    ),
  ).toEqual([
    { name: '_here', defined: true, lookup: false },
    { name: '_malloc', defined: false, lookup: false },
    { name: '_wanted', defined: false, lookup: true },
  ]);
});

test('what neither a library, Node nor the C++ library has is open', () => {
  const mlx = written('libmlx.dylib', ['__ZN3mlx4core7versionEv', DEFINED, 0]);
  const wants = (name: string): [string, number, number] => [name, UNDEFINED, NO_LIBRARY];
  const addon = written(
    'addon',
    ...[
      '__ZN3mlx4core7versionEv',
      '_napi_create_object',
      '__ZNSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEE6appendEPKc',
      '__ZNKSt9exception4whatEv',
      '__ZTVN10__cxxabiv120__si_class_type_infoE',
      '__ZTINSt3__18ios_baseE',
      '__Znwm',
      '__ZdlPvm',
      '___cxa_throw',
      '___gxx_personality_v0',
    ].map(wants),
    ...['__ZN3mlx4core9no_suchEv', '__ZN7atelier4lostEv', '__ZTIN7atelier4LostE', '_napi_lost'].map(wants),
  );
  expect(openMacSymbols(addon, [mlx])).toEqual([
    '__ZN3mlx4core9no_suchEv',
    '__ZN7atelier4lostEv',
    '__ZTIN7atelier4LostE',
    '_napi_lost',
  ]);
});

test('another kind of file is refused', () => {
  expect(() => machSymbols(Buffer.alloc(64))).toThrow('not a 64-bit Mach-O file');
});
