import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { EngineModule } from '../../../native/face';
import { Id } from '../../../shared/contract/common';
import type { Model } from '../../../shared/contract/models';
import { AtelierError } from '../../../shared/rpc/errors';
import { makeId, RegistryFile, type Roots } from '../places';
import { ModelText, type Renderer } from '../text';
import { inspectFolder } from './inspect-folder';
import { inspectGguf } from './inspect-gguf';
import { Inspection } from './inspection';
import { modelCard, nameOfPath } from './model-card';

const Entry = z.object({
  id: Id,
  name: z.string(),
  path: z.string(),
  format: z.enum(['safetensors', 'gguf']),
  addedAt: z.number(),
  /** What was last seen: shown while the path cannot be reached. */
  last: Inspection,
});
type Entry = z.infer<typeof Entry>;

interface Known {
  id: string;
  name: string;
  path: string;
  format: Model['format'];
  source: Model['source'];
  addedAt: number;
  last: Inspection | null;
  description?: string | undefined;
}

/** All that training and chat need of a model beside its weights. */
export interface OpenModel {
  id: string;
  name: string;
  /** A folder, or one .gguf file: what the engine's loadModel takes. */
  path: string;
  text: ModelText;
  stopIds: Int32Array;
  contextLength: number;
  /** sha-256 of the chat template, hex; 'none' without one. */
  templateHash: string;
  /** sha-256 over configuration and tensor list, hex. */
  fingerprint: string;
  inspection: Inspection;
}

export interface ModelOptions {
  home: string;
  /** Folder whose subfolders are the app's own models. */
  bundled: string;
  roots: Roots;
  /** Judges configurations and headers; weights stay where they are. */
  engine: Pick<EngineModule, 'checkModel' | 'readGguf' | 'readSafetensorsHeader'>;
  /** Where chat templates are rendered; default: a child process of Node. */
  renderer?: Renderer;
}

/** Models by id: those that come with the app, and folders or GGUF files added where they lie. */
export class ModelRegistry {
  readonly #entries: RegistryFile<Entry>;
  readonly #inspected = new Map<string, { stamp: string; inspection: Promise<Inspection> }>();
  readonly #texts = new Map<string, { stamp: string; text: Promise<ModelText> }>();

  constructor(private readonly options: ModelOptions) {
    this.#entries = new RegistryFile(join(options.home, 'models.json'), Entry);
  }

  async list(): Promise<Model[]> {
    return Promise.all((await this.#known()).map((known) => this.#describe(known)));
  }

  async get(id: string): Promise<Model> {
    return this.#describe(await this.#find(id));
  }

  async add({ path, name }: { path: string; name?: string | undefined }): Promise<Model> {
    const real = await this.options.roots.resolve(path);
    const known = await this.#known();
    const same = known.find((entry) => entry.path === real);
    if (same) return this.#describe(same);
    const format = (await stat(real)).isDirectory() ? 'safetensors' : 'gguf';
    if (format === 'gguf' && !/\.gguf$/i.test(real)) {
      throw new AtelierError(
        'unsupported',
        `${path} is neither a model folder nor a .gguf file.`,
        'Choose the folder with config.json and the .safetensors files, or a .gguf file.',
        { path: 'path' },
      );
    }
    const last = await this.#inspect({ path: real, format });
    // a tokenizer or a template that cannot be used is told now, not when a run starts
    if (last.unsupported === null) await this.#text({ path: real, format }, last);
    const card = format === 'safetensors' ? await modelCard(real) : { title: null };
    const title = name ?? (card.title !== null && card.title.length <= 60 ? card.title : nameOfPath(real));
    const taken = new Set(known.map((entry) => entry.id));
    let id = '';
    await this.#entries.update((entries) => {
      for (const entry of entries) taken.add(entry.id);
      id = makeId(title, taken, 'model');
      return [...entries, { id, name: title, path: real, format, addedAt: Date.now(), last }];
    });
    return this.get(id);
  }

  /** Forgets a model; its files stay. */
  async remove(id: string): Promise<void> {
    const known = await this.#find(id);
    if (known.source === 'bundled') {
      throw new AtelierError('forbidden', `"${known.name}" comes with the app and cannot be removed.`);
    }
    await this.#entries.update((entries) => entries.filter((entry) => entry.id !== id));
    this.#inspected.delete(known.path);
    this.#texts.delete(known.path);
  }

  /** Throws where the model cannot be reached or is not supported. */
  async open(id: string): Promise<OpenModel> {
    const known = await this.#find(id);
    let inspection: Inspection;
    try {
      inspection = await this.#inspect(known);
    } catch (error) {
      throw new AtelierError(
        'unavailable',
        `"${known.name}" cannot be read now: ${(error as Error).message}`,
        `Its files are expected at ${known.path}.`,
      );
    }
    if (inspection.unsupported !== null) throw new AtelierError('unsupported', inspection.unsupported);
    const text = await this.#text(known, inspection);
    return {
      id,
      name: known.name,
      path: known.path,
      text,
      stopIds: text.stopIds,
      contextLength: inspection.contextLength ?? 2048,
      templateHash: text.template?.hash ?? 'none',
      fingerprint: inspection.fingerprint,
      inspection,
    };
  }

  async #known(): Promise<Known[]> {
    const added = (await this.#entries.read()).map((entry): Known => ({ ...entry, source: 'added' }));
    return [...(await this.#shipped()), ...added];
  }

  async #shipped(): Promise<Known[]> {
    const names = await readdir(this.options.bundled).catch(() => []);
    const folders = names.filter((name) => Id.safeParse(name).success).sort();
    const found = await Promise.all(
      folders.map(async (id): Promise<Known[]> => {
        const path = join(this.options.bundled, id);
        if (!(await stat(join(path, 'config.json')).catch(() => null))) return [];
        const { title, description } = await modelCard(path);
        const name = title ?? id;
        return [
          { id, name, path, format: 'safetensors', source: 'bundled', addedAt: 0, last: null, description },
        ];
      }),
    );
    return found.flat();
  }

  async #find(id: string): Promise<Known> {
    const known = (await this.#known()).find((entry) => entry.id === id);
    if (known) return known;
    throw new AtelierError('not_found', `There is no model "${id}".`);
  }

  async #describe(known: Known): Promise<Model> {
    const { last, description, ...shared } = known;
    const words =
      description ?? (known.format === 'safetensors' ? (await modelCard(known.path)).description : undefined);
    const named = { ...shared, ...(words === undefined ? {} : { description: words.slice(0, 2000) }) };
    try {
      const { unsupported, fingerprint: _, ...facts } = await this.#inspect(known);
      if (unsupported === null) return { ...named, ...facts, state: 'ready' };
      return { ...named, ...facts, state: 'unsupported', reason: unsupported };
    } catch (error) {
      const { unsupported: _, fingerprint: __, ...facts } = last ?? nothing;
      const reason = error instanceof Error ? error.message : String(error);
      const gone = !(await stat(known.path).catch(() => null));
      const state = gone ? 'offline' : 'unsupported';
      return { ...named, ...facts, state, reason: gone ? `${known.path} cannot be reached.` : reason };
    }
  }

  async #inspect({ path, format }: Pick<Known, 'path' | 'format'>): Promise<Inspection> {
    const stamp = await stampOf(path);
    const kept = this.#inspected.get(path);
    if (kept?.stamp === stamp) return kept.inspection;
    const { engine } = this.options;
    const inspection = format === 'gguf' ? inspectGguf(path, engine) : inspectFolder(path, engine);
    this.#inspected.set(path, { stamp, inspection });
    inspection.catch(() => this.#inspected.delete(path));
    return inspection;
  }

  async #text({ path, format }: Pick<Known, 'path' | 'format'>, facts: Inspection): Promise<ModelText> {
    const stamp = await stampOf(path);
    const kept = this.#texts.get(path);
    if (kept?.stamp === stamp) return kept.text;
    const { engine, renderer } = this.options;
    const read =
      format === 'gguf'
        ? ModelText.fromGguf(engine.readGguf(path).metadata, renderer)
        : ModelText.fromFolder(path, renderer);
    const text = read.then((ready) => {
      if (facts.vocabularySize !== null) ready.requireFit(facts.vocabularySize);
      return ready;
    });
    // Tokenizers of large vocabularies take a quarter of a gigabyte: two are kept.
    const oldest = this.#texts.size >= 2 ? this.#texts.keys().next().value : undefined;
    if (oldest !== undefined) this.#texts.delete(oldest);
    this.#texts.set(path, { stamp, text });
    text.catch(() => this.#texts.delete(path));
    return text;
  }
}

const nothing: Inspection = {
  leftOut: [],
  unsupported: null,
  family: null,
  parameters: null,
  bytes: null,
  contextLength: null,
  vocabularySize: null,
  hiddenSize: null,
  layers: null,
  quantizedBits: null,
  mixture: false,
  softmaxRouters: false,
  packs: true,
  hasChatTemplate: false,
  scalarHead: false,
  fingerprint: '',
};

/** Changes when any file of the model does. */
async function stampOf(path: string): Promise<string> {
  const real = await realpath(path);
  const own = await stat(real);
  if (!own.isDirectory()) return `${real} ${own.size} ${own.mtimeMs}`;
  const names = (await readdir(real)).filter((name) => /\.(json|jinja|safetensors)$/.test(name)).sort();
  const parts = await Promise.all(
    names.map(async (name) => {
      const found = await stat(join(real, name)).catch(() => null);
      return `${name} ${found?.size} ${found?.mtimeMs}`;
    }),
  );
  return [real, ...parts].join('\n');
}
