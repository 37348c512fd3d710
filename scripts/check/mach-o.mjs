// Open symbols of what is linked for a Mac, as Mach-O has them (mach-o/loader.h and mach-o/nlist.h of Apple's SDK).
import { readFileSync } from 'node:fs';
import { nodeApi } from './symbols.mjs';

const MAGIC_64 = 0xfeedfacf;
const LC_SYMTAB = 2;
/** In a symbol's type: debugging entry, kind, "undefined", visible outside. */
const [N_STAB, N_TYPE, N_UNDF, N_EXT] = [0xe0, 0x0e, 0, 1];
/** In place of a library's number: looked for by name when loaded. */
const DYNAMIC_LOOKUP = 0xfe;

/**
 * The symbols of a 64-bit Mach-O file that others see or that it wants.
 * @param {Buffer} file @returns {{ name: string, defined: boolean, lookup: boolean }[]} `lookup`: no library at link
 * time had it
 */
export function machSymbols(file) {
  if (file.readUInt32LE(0) !== MAGIC_64) throw new Error('not a 64-bit Mach-O file');
  let command = 32;
  for (let k = file.readUInt32LE(16); k > 0; k--) {
    if (file.readUInt32LE(command) === LC_SYMTAB) break;
    command += file.readUInt32LE(command + 4);
  }
  if (file.readUInt32LE(command) !== LC_SYMTAB) throw new Error('a Mach-O file without symbols');
  const [symbols, count, strings] = [8, 12, 16].map((offset) => file.readUInt32LE(command + offset));
  const found = [];
  for (let at = symbols; at < symbols + 16 * count; at += 16) {
    const type = file[at + 4];
    if (type & N_STAB || !(type & N_EXT)) continue;
    const name = strings + file.readUInt32LE(at);
    found.push({
      name: file.toString('latin1', name, file.indexOf(0, name)),
      defined: (type & N_TYPE) !== N_UNDF,
      lookup: file[at + 7] === DYNAMIC_LOOKUP,
    });
  }
  return found;
}

/** What a Mac's libc++ and libc++abi have: names in std, their type information, new and delete, exceptions. */
const STANDARD = /^_(_Z(N[KVO]*S|S|T[VISTC]N?K?S|TIP?K?[a-z]|T[VI]N10__cxxabiv|n[wa]|d[la])|__cxa_|__gxx_)/;

/**
 * @param {string} binary linked with every symbol left open @param {string[]} libraries that are there when it runs
 * @returns {string[]} its open symbols that neither these, Node nor the system has
 */
export function openMacSymbols(binary, libraries) {
  const there = new Set(nodeApi().map((name) => `_${name}`));
  for (const library of libraries)
    for (const { name, defined } of machSymbols(readFileSync(library))) if (defined) there.add(name);
  return machSymbols(readFileSync(binary))
    .filter(({ name, defined, lookup }) => !defined && lookup && !there.has(name) && !STANDARD.test(name))
    .map(({ name }) => name);
}
