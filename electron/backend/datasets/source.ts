import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { AtelierError } from '../../../shared/rpc/errors';
import { fileInside } from '../places';
import { readJson } from '../store';
import { kindByName, kindOf, unknownKind, type FileKind, type Format } from './formats';

/** A file of a data set. */
export interface DataFile {
  path: string;
  gzip: boolean;
}

/** Files of one kind that are read one after another; `split` null: there is but one part. */
export interface DataPart {
  split: string | null;
  format: Format;
  files: DataFile[];
}

/**
 * The parts of what lies at a path: one file; a folder written by datasets' save_to_disk (5.2), with splits or without;
 * or a folder of files of one kind, whose splits are told by their names. `given`: the name before links were followed.
 */
export async function findParts(path: string, given = path): Promise<DataPart[]> {
  const found = await stat(path);
  if (found.isFile()) {
    const { format, gzip } = await kindOf(path, given);
    return [{ split: null, format, files: [{ path, gzip }] }];
  }
  if (!found.isDirectory()) {
    throw new AtelierError(
      'invalid_input',
      `${given} is a pipe or a device; a data set is a file or a folder.`,
      undefined,
      {
        path: 'path',
      },
    );
  }
  return (await savedParts(path)) ?? folderParts(path);
}

const SavedSplits = z.object({ splits: z.array(z.string()).min(1).max(1000) });
const SavedState = z.object({
  _data_files: z.array(z.object({ filename: z.string() })).min(1),
  _indices_files: z.array(z.unknown()).nullish(),
});

async function savedParts(folder: string): Promise<DataPart[] | null> {
  const splits = SavedSplits.safeParse(await jsonOf(folder, 'dataset_dict.json'));
  if (!splits.success) {
    const part = await savedPart(folder, null);
    return part && [part];
  }
  return Promise.all(
    splits.data.splits.map(async (name) => {
      // state.json is asked for as a file inside: a split's name may not lead out
      const part = await savedPart(folder, name);
      if (part) return part;
      throw new AtelierError(
        'invalid_file',
        `${folder} names the split "${name}", but ${name}/state.json is missing.`,
      );
    }),
  );
}

async function savedPart(folder: string, split: string | null): Promise<DataPart | null> {
  const inSplit = (name: string) => (split === null ? name : `${split}/${name}`);
  const value = await jsonOf(folder, inSplit('state.json'));
  if (value === null) return null;
  const state = SavedState.safeParse(value);
  if (!state.success) {
    throw new AtelierError('invalid_file', `${join(folder, inSplit('state.json'))} names no data files.`);
  }
  if (state.data._indices_files?.length) {
    throw new AtelierError(
      'unsupported',
      `${folder} was saved by an old version of datasets, with its rows in another order than its files have.`,
      'Load it and save it again with save_to_disk of datasets 2 or later.',
    );
  }
  const files = await Promise.all(
    state.data._data_files.map(async ({ filename }) => ({
      path: await fileInside(folder, inSplit(filename)),
      gzip: false,
    })),
  );
  const { format } = await kindOf(files[0]!.path, state.data._data_files[0]!.filename);
  return { split, format, files };
}

async function jsonOf(folder: string, name: string): Promise<unknown> {
  if (!(await stat(join(folder, name)).catch(() => null))?.isFile()) return null;
  return readJson(await fileInside(folder, name));
}

const maxFiles = 10_000;
/** Files that tell of a data set and are none of its data. */
const aside = new Set([
  'dataset_info.json',
  'dataset_infos.json',
  'state.json',
  'package.json',
  'config.json',
]);
const splitNames: Record<string, string> = {
  train: 'train',
  training: 'train',
  test: 'test',
  testing: 'test',
  eval: 'test',
  evaluation: 'test',
  validation: 'validation',
  valid: 'validation',
  val: 'validation',
  dev: 'validation',
};
const splitWord = new RegExp(`(?:^|[-_./ ])(${Object.keys(splitNames).join('|')})(?=[-_./ \\d])`, 'i');

async function folderParts(folder: string): Promise<DataPart[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    )
    .filter((name) => !name.split('/').some((part) => part.startsWith('.')) && !aside.has(basename(name)))
    .toSorted();
  const data = names.flatMap((name) => {
    const kind = kindByName(name);
    return kind ? [{ name, kind }] : [];
  });
  if (data.length === 0) throw noData(folder, names);
  if (data.length > maxFiles) {
    throw new AtelierError(
      'unsupported',
      `${folder} holds ${data.length} data files; at most ${maxFiles} are read.`,
    );
  }
  const kinds = [...new Set(data.map(({ kind }) => kind.format.name))];
  if (kinds.length > 1) {
    throw new AtelierError(
      'invalid_input',
      `${folder} holds files of several kinds: ${kinds.join(', ')}.`,
      'Choose one file, or a folder with files of one kind.',
      { path: 'path' },
    );
  }
  const { format } = data[0]!.kind;
  const parts = new Map<string | null, { name: string; kind: FileKind }[]>();
  for (const file of data) {
    const word = splitWord.exec(file.name)?.[1]?.toLowerCase();
    const split = word === undefined ? null : splitNames[word]!;
    parts.set(split, [...(parts.get(split) ?? []), file]);
  }
  return Promise.all(
    [...parts].map(async ([split, files]) => ({
      split: parts.size === 1 ? null : (split ?? 'rest'),
      format,
      files: await Promise.all(
        files.map(async ({ name, kind }) => ({ path: await fileInside(folder, name), gzip: kind.gzip })),
      ),
    })),
  );
}

function noData(folder: string, names: readonly string[]): AtelierError {
  if (names.length === 0) {
    return new AtelierError('invalid_input', `${folder} holds no file.`, undefined, { path: 'path' });
  }
  return unknownKind(names[0]!);
}
