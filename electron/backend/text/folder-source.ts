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

/** One template, or several by name, of which the one called default is used, as transformers does. */
function configTemplate(value: unknown, where: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value;
  const named = Array.isArray(value)
    ? (value as { name?: unknown; template?: unknown }[]).map(({ name, template }) => [name, template])
    : typeof value === 'object'
      ? Object.entries(value)
      : [];
  const chosen = named.find(([name]) => name === 'default')?.[1];
  if (typeof chosen === 'string') return chosen;
  throw new AtelierError(
    'unsupported',
    named.length === 0
      ? `${where}: chat_template is no template.`
      : `${where}: none of the chat templates (${named.map(([name]) => String(name)).join(', ')}) is called "default".`,
    'Put the one to use into chat_template.jinja, in the same folder.',
  );
}

/** Ids that tokenizer_config.json gives to added tokens: transformers adds those that tokenizer.json lacks. */
function addedIds(config: Json): Record<string, number> {
  const decoder = (config['added_tokens_decoder'] ?? {}) as Json;
  const named = Object.entries(decoder).map(([id, token]) => [tokenText(token), Number(id)] as const);
  return Object.fromEntries(named.filter(([token]) => token !== undefined));
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
    addedIds: addedIds(config),
    eosIds: eos ?? [],
    template:
      jinja ??
      configTemplate(templateJson['chat_template'], 'chat_template.json') ??
      configTemplate(config['chat_template'], 'tokenizer_config.json'),
  };
}
