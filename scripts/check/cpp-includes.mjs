// Who may include whom in native/src. A header of ours is written from native/src: "core/params.h".
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** @type {Record<string, Set<string>>} layer -> the layers whose headers it may include, beside its own */
export const arrows = (() => {
  const direct = {
    core: [],
    io: ['core'],
    program: ['core'],
    kernels: ['core'],
    nn: ['io', 'program', 'kernels'],
    models: ['nn'],
    infer: ['models'],
    train: ['models'],
    engine: ['infer', 'train'],
    addon: ['engine'],
  };
  const all = {};
  for (const [layer, below] of Object.entries(direct))
    all[layer] = new Set(below.flatMap((b) => [b, ...all[b]]));
  return all;
})();

function* sourcesIn(folder) {
  for (const name of readdirSync(folder).sort()) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* sourcesIn(path);
    else if (/\.(h|cpp|mm)$/.test(name)) yield path;
  }
}

/**
 * @param {string} src the folder native/src
 * @returns {string[]} one line for each include that the arrows do not allow; tests may include anything
 */
export function includeProblems(src) {
  const problems = [];
  for (const path of sourcesIn(src)) {
    const file = relative(src, path).split(sep).join('/');
    if (/(_test\.cpp|^test_main\.cpp)$/.test(file) || file.includes('testing/')) continue;
    const layer = file.startsWith('addon') ? 'addon' : file.split('/')[0];
    if (!(layer in arrows)) {
      problems.push(`${file}: there is no layer "${layer}" (scripts/check/cpp-includes.mjs)`);
      continue;
    }
    readFileSync(path, 'utf8')
      .split('\n')
      .forEach((text, index) => {
        const include = /^\s*#\s*include\s+(["<])([^">]+)[">]/.exec(text);
        if (!include) return;
        const [, quote, target] = include;
        const where = `${file}:${index + 1}`;
        const to = target.startsWith('addon') ? 'addon' : target.split('/')[0];
        if (target.startsWith('napi') && layer !== 'addon')
          problems.push(`${where}: only the addon includes ${target}`);
        if (quote !== '"') return;
        if (!existsSync(join(src, target)))
          problems.push(`${where}: "${target}" is not a path from native/src`);
        else if (to !== layer && !arrows[layer].has(to))
          problems.push(`${where}: ${layer} must not include ${to} ("${target}")`);
      });
  }
  return problems;
}
