import { copyFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileInside } from '../places';
import type { TextSource } from './tokenizer';

/** Files that say what a model's tokens and texts are; transformers reads any of them. */
const FILES = [
  'tokenizer.json',
  'tokenizer_config.json',
  'tokenizer.model',
  'special_tokens_map.json',
  'added_tokens.json',
  'vocab.json',
  'merges.txt',
  'chat_template.jinja',
  'chat_template.json',
  'generation_config.json',
];

/** The text files of a model folder, as they are. */
export async function copyTextFiles(from: string, to: string): Promise<void> {
  const there = new Set(await readdir(from));
  for (const name of FILES) {
    if (there.has(name)) await copyFile(await fileInside(from, name), join(to, name));
  }
}

/** The same of a model that has them in its GGUF file. */
export async function writeTextFiles(source: TextSource, to: string): Promise<void> {
  const json = (name: string, value: object) =>
    writeFile(join(to, name), `${JSON.stringify(value, null, 2)}\n`);
  await writeFile(join(to, 'tokenizer.json'), source.tokenizerJson);
  await json('tokenizer_config.json', {
    tokenizer_class: 'PreTrainedTokenizerFast',
    ...source.specialTokens,
    ...(source.template === null ? {} : { chat_template: source.template }),
  });
  if (source.eosIds.length > 0) await json('generation_config.json', { eos_token_id: source.eosIds });
}
