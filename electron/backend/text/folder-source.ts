import { readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { AtelierError } from '../../../shared/rpc/errors';
import type { TextSource } from './tokenizer';

type Json = Record<string, unknown>;

const limits = { 'tokenizer.json': 256 << 20, other: 16 << 20 };

async function text(dir: string, name: string): Promise<string | null> {
  const path = join(dir, name);
  const found = await stat(path).catch(() => null);
  if (!found) return null;
  if (!found.isFile()) throw new AtelierError('invalid_file', `${basename(dir)}/${name} is not a file.`);
  const { size } = found;
  const limit = name === 'tokenizer.json' ? limits[name] : limits.other;
  if (size > limit) {
    throw new AtelierError('invalid_file', `${name} is ${size} bytes; at most ${limit} are read.`);
  }
  return readFile(path, 'utf8');
}

async function json(dir: string, name: string): Promise<Json> {
  const source = await text(dir, name);
  if (source === null) return {};
  try {
    const value: unknown = JSON.parse(source);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
    throw new Error('it is not a JSON object');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new AtelierError('invalid_file', `${basename(dir)}/${name} cannot be read: ${why}.`);
  }
}

/** A token is written as its text or as an object that holds it. */
function tokenText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'object' && value !== null && 'content' in value) return tokenText(value.content);
  return undefined;
}

function specials(config: Json, map: Json): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [key, value] of [...Object.entries(map), ...Object.entries(config)]) {
    const token = key.endsWith('_token') ? tokenText(value) : undefined;
    if (token !== undefined) found[key] = token;
  }
  return found;
}

function ids(value: unknown, where: string): number[] {
  const list = Array.isArray(value) ? value : value === null || value === undefined ? [] : [value];
  const wrong = list.find((id) => !Number.isInteger(id) || (id as number) < 0);
  if (wrong !== undefined) {
    throw new AtelierError('invalid_file', `${where}: eos_token_id ${JSON.stringify(wrong)} is no token id.`);
  }
  return list as number[];
}

/** tokenizer_config's chat_template is one template, or several by name. */
function configTemplate(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return null;
  const named = value as { name?: unknown; template?: unknown }[];
  const chosen = named.find((entry) => entry.name === 'default') ?? named[0];
  return typeof chosen?.template === 'string' ? chosen.template : null;
}

/** What transformers would read from a model folder about its text. */
export async function folderSource(dir: string): Promise<TextSource> {
  const tokenizerJson = await text(dir, 'tokenizer.json');
  if (tokenizerJson === null) {
    throw new AtelierError(
      'unsupported',
      `${basename(dir)} has no tokenizer.json.`,
      'Convert the tokenizer once with transformers: AutoTokenizer.from_pretrained(folder).save_pretrained(folder).',
    );
  }
  const [config, map, generation, model, jinja, templateJson] = await Promise.all([
    json(dir, 'tokenizer_config.json'),
    json(dir, 'special_tokens_map.json'),
    json(dir, 'generation_config.json'),
    json(dir, 'config.json'),
    text(dir, 'chat_template.jinja'),
    json(dir, 'chat_template.json'),
  ]);
  const nested = (model['text_config'] ?? {}) as Json;
  const eos = [
    ids(generation['eos_token_id'], 'generation_config.json'),
    ids(model['eos_token_id'], 'config.json'),
    ids(nested['eos_token_id'], 'config.json: text_config'),
  ].find((list) => list.length > 0);
  return {
    tokenizerJson,
    specialTokens: specials(config, map),
    eosIds: eos ?? [],
    template:
      jinja ?? configTemplate(templateJson['chat_template']) ?? configTemplate(config['chat_template']),
  };
}
