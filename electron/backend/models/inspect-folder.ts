import { createHash } from 'node:crypto';
import { readFile, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { EngineModule } from '../../../native/face';
import { AtelierError } from '../../../shared/rpc/errors';
import { fileInside } from '../places';
import { folderSource } from '../text';
import { judge, type Inspection } from './inspection';

type Json = Record<string, unknown>;

/** What the files of a model folder tell without their weights; tokenizer and template are not compiled yet. */
export async function inspectFolder(
  dir: string,
  engine: Pick<EngineModule, 'checkModel' | 'readSafetensorsHeader'>,
): Promise<Inspection> {
  const configText = await readFile(join(dir, 'config.json'), 'utf8').catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'EISDIR') return null;
      throw error;
    },
  );
  const adapter = (await readdir(dir).catch((): string[] => [])).includes('adapter_config.json');
  if (adapter) {
    throw new AtelierError(
      'unsupported',
      configText === null
        ? `${basename(dir) || dir} is an adapter (adapter_config.json), not a whole model.`
        : `${basename(dir) || dir} holds an adapter beside the model (adapter_config.json), which would not be applied.`,
      configText === null
        ? 'Merge it into its base once with peft: merge_and_unload().save_pretrained(folder), and choose that folder.'
        : 'Move adapter_config.json away to use the model alone, or merge the adapter into it with peft.',
    );
  }
  if (configText === null) {
    throw new AtelierError(
      'invalid_file',
      `${basename(dir) || dir} has no config.json: it is not a model folder.`,
      'Choose the folder that holds config.json, tokenizer.json and the .safetensors files.',
    );
  }
  const files = await weightFiles(dir);
  const hash = createHash('sha256').update(configText);
  let bytes = 0;
  for (const file of files) {
    const path = await fileInside(dir, file);
    bytes += (await stat(path)).size;
    for (const [name, { dtype, shape }] of Object.entries(engine.readSafetensorsHeader(path))) {
      hash.update(`${name} ${dtype} ${shape.join('x')}\n`);
    }
  }
  hash.update(String(bytes));
  const source = await folderSource(dir);
  return {
    ...judge(dir, engine),
    bytes,
    hasChatTemplate: source.template !== null,
    fingerprint: hash.digest('hex'),
  };
}

async function weightFiles(dir: string): Promise<string[]> {
  const names = await readdir(dir);
  if (names.includes('model.safetensors.index.json')) {
    const index = object(
      await readFile(join(dir, 'model.safetensors.index.json'), 'utf8'),
      'model.safetensors.index.json',
    );
    const map = index['weight_map'];
    const listed = typeof map === 'object' && map !== null ? Object.values(map as Json) : [];
    if (listed.length === 0 || !listed.every((name) => typeof name === 'string')) {
      throw new AtelierError('invalid_file', 'model.safetensors.index.json has no weight_map of file names.');
    }
    return [...new Set(listed as string[])].sort();
  }
  if (names.includes('model.safetensors')) return ['model.safetensors'];
  const shard = names.find((name) => /-\d+-of-\d+\.safetensors$/.test(name));
  if (shard) {
    throw new AtelierError(
      'invalid_file',
      `${basename(dir)} has its weights in parts (${shard}), but no model.safetensors.index.json.`,
      'Fetch that file from where the model came from.',
    );
  }
  const pickled = names.find((name) => /\.(bin|pt|pth|ckpt)$/.test(name));
  throw new AtelierError(
    'unsupported',
    pickled
      ? `${basename(dir)} has its weights in ${pickled}, a format that can run code when it is opened.`
      : `${basename(dir)} has no model.safetensors.`,
    'Convert it once with transformers: AutoModelForCausalLM.from_pretrained(folder).save_pretrained(folder).',
  );
}

function object(text: string, name: string): Json {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  } catch (error) {
    throw new AtelierError('invalid_file', `${name} is not JSON: ${(error as Error).message}.`);
  }
  throw new AtelierError('invalid_file', `${name} is not a JSON object.`);
}
