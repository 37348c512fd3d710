import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { arrows, includeProblems } from './cpp-includes.mjs';

let src: string;
beforeEach(() => {
  src = mkdtempSync(join(tmpdir(), 'atelier-includes-'));
  for (const layer of Object.keys(arrows)) write(`${layer}/target.h`, '');
});
afterEach(() => rmSync(src, { recursive: true, force: true }));

function write(file: string, text: string) {
  mkdirSync(dirname(join(src, file)), { recursive: true });
  writeFileSync(join(src, file), text);
}

const order = ['core', 'io', 'program', 'kernels', 'nn', 'models', 'infer', 'train', 'engine', 'addon'];
const forbidden = order.flatMap((from) =>
  order.filter((to) => to !== from && !arrows[from]!.has(to)).map((to) => [from, to] as const),
);

test('the arrows are those of the architecture', () => {
  expect([...arrows['nn']!].sort()).toEqual(['core', 'io', 'kernels', 'program']);
  expect(arrows['infer']!.has('train')).toBe(false);
  expect(arrows['train']!.has('infer')).toBe(false);
  expect(arrows['engine']!.has('core')).toBe(true);
});

test.each(forbidden)('%s must not include %s', (from, to) => {
  write(`${from}/a.cpp`, `#include <vector>\n#include "${to}/target.h"\n`);
  expect(includeProblems(src)).toEqual([
    `${from}/a.cpp:2: ${from} must not include ${to} ("${to}/target.h")`,
  ]);
});

test('includes along the arrows, and those of tests, are fine', () => {
  write('engine/a.cpp', '#include "engine/target.h"\n#include "core/target.h"\n#include <mlx/mlx.h>\n');
  write('addon.cpp', '#include "engine/target.h"\n#include <napi.h>\n');
  write('core/a_test.cpp', '#include "engine/target.h"\n');
  expect(includeProblems(src)).toEqual([]);
});

test('a header is named from native/src, Node-API stays in the addon, and a layer has a name', () => {
  write('io/a.cpp', '#include "target.h"\n#include <napi.h>\n');
  write('other/a.cpp', '');
  expect(includeProblems(src)).toEqual([
    'io/a.cpp:1: "target.h" is not a path from native/src',
    'io/a.cpp:2: only the addon includes napi.h',
    'other/a.cpp: there is no layer "other" (scripts/check/cpp-includes.mjs)',
  ]);
});
