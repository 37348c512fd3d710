import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { buildDir } from '../setup/paths.mjs';
import { checkPrerequisites } from '../setup/prerequisites.mjs';
import { librariesFor, openSymbols } from './symbols.mjs';

const folder = mkdtempSync(join(tmpdir(), 'atelier-symbols-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A library linked as the CUDA addon is, with one call to a function of the given declaration. */
function link(declaration: string, call: string): string {
  const source = join(folder, 'planted.cpp');
  const library = join(folder, 'planted.so');
  writeFileSync(
    source,
    `#include <string>\n${declaration}\nextern "C" void f() { ${call}; throw std::string("x"); }\n`,
  );
  const { compiler } = checkPrerequisites();
  const flags = ['-std=c++20', '-shared', '-fPIC', '-Wl,--unresolved-symbols=ignore-all'];
  execFileSync(compiler, [...flags, source, '-o', library]);
  return library;
}

// The symbols are ELF's; on a Mac the linker itself refuses what libmlx does not have.
test.runIf(process.platform === 'linux')('a symbol that nobody has is found, by name', () => {
  const libraries = librariesFor(join(buildDir('cpu'), 'addon', 'atelier.node'));
  const planted = link(
    'namespace mlx::core { int no_such_function(int); }',
    'mlx::core::no_such_function(1)',
  );
  expect(openSymbols(planted, libraries)).toEqual(['_ZN3mlx4core16no_such_functionEi']);
});

test.runIf(process.platform === 'linux')('symbols of MLX, Node and the system are fine', () => {
  const libraries = librariesFor(join(buildDir('cpu'), 'addon', 'atelier.node'));
  const declared =
    'namespace mlx::core { const char* version(); } extern "C" int napi_create_object(void*, void*);';
  const library = link(declared, 'mlx::core::version(); napi_create_object(nullptr, nullptr)');
  expect(openSymbols(library, libraries)).toEqual([]);
});
