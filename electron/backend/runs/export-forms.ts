import { copyFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine, EngineModule, GgufText } from '../../../native/face';
import type { ExportForm } from '../../../shared/contract/runs';
import { copyTextFiles, folderSource, ggufSource, ggufText, writeTextFiles } from '../text';
import type { Limits } from './logit-difference';
import type { Compared } from './outputs';

/** What an export asks of the engine's files. */
export type ExportModule = Pick<EngineModule, 'readGguf' | 'checkModel'>;

export interface WriteOptions {
  engine: Engine;
  module: ExportModule;
  /** Path of the weights; of the base where there is an adapter. */
  base: string;
  /** PEFT folder; null where all parameters were trained. */
  adapter: string | null;
  /** Path of the model whose tokenizer and template it has. */
  text: string;
  /** Name of the run, for the file's own notes. */
  name: string;
  /** An empty folder. */
  to: string;
  signal: AbortSignal;
}

interface Form {
  /** After the step in the folder's name. */
  suffix: string;
  write(options: WriteOptions): Promise<void>;
  /** What loads without the base; null: the folder is an adapter. */
  model: ((folder: string) => string) | null;
  limits: FormLimits;
}

type FormLimits = Record<Compared, Limits>;
const exact: Limits = { logit: 1e-3, kl: Infinity, share: Infinity };
const EXACT: FormLimits = { logits: exact, scores: exact };
/**
 * What rounding to so many bits may bring, by what it does to healthy models, and room: of logits the mean divergence in
 * nats; of scores, which only 16 bits are written of, the difference as a share of the largest.
 */
const rounded = (kl: number): FormLimits => ({
  logits: { logit: Infinity, kl, share: Infinity },
  scores: { logit: Infinity, kl: Infinity, share: 0.05 },
});
const ROUNDED = { 16: rounded(0.01), 8: rounded(0.05), 4: rounded(1) };

const isFile = async (path: string) => !(await stat(path)).isDirectory();

/** Tokenizer and chat template of a model's folder or GGUF file. */
export async function textOf(path: string, module: ExportModule) {
  return (await isFile(path)) ? ggufSource(module.readGguf(path).metadata) : folderSource(path);
}

/** A folder that transformers or mlx-lm loads. */
async function writeFolder(
  options: WriteOptions,
  as: Extract<Parameters<Engine['exportModel']>[0]['as'], { kind: 'safetensors' | 'mlx' }>,
): Promise<void> {
  const { engine, base, adapter, text, to, signal } = options;
  if (await isFile(text)) await writeTextFiles(await textOf(text, options.module), to);
  else await copyTextFiles(text, to);
  await engine.exportModel({ base, adapter, to, as }, { signal });
}

/** What each form of an export is made of, and how what was written is judged. Ask `refusalOf` first. */
export function formOf(form: ExportForm): Form {
  switch (form.kind) {
    case 'adapter':
      return {
        suffix: '',
        model: null,
        limits: EXACT,
        async write({ adapter, to }) {
          for (const name of ['adapter_model.safetensors', 'adapter_config.json'])
            await copyFile(join(adapter!, name), join(to, name));
        },
      };
    case 'merged':
      return {
        suffix: form.dtype === 'f32' ? '-merged' : `-merged-${form.dtype}`,
        model: (folder) => folder,
        limits: form.dtype === 'f32' ? EXACT : ROUNDED[16],
        write: (options) => writeFolder(options, { kind: 'safetensors', dtype: form.dtype }),
      };
    case 'mlx':
      return {
        suffix: form.bits === null ? '-mlx' : `-mlx-${form.bits}bit`,
        model: (folder) => folder,
        limits: ROUNDED[form.bits ?? 16],
        write: (options) =>
          writeFolder(
            options,
            form.bits === null ? { kind: 'mlx' } : { kind: 'mlx', quantize: { bits: form.bits } },
          ),
      };
    case 'gguf': {
      const file = `model-${form.type}.gguf`;
      return {
        suffix: `-gguf-${form.type}`,
        model: (folder) => join(folder, file),
        limits: form.type === 'f32' ? EXACT : ROUNDED[form.type === 'f16' ? 16 : 8],
        async write(options) {
          const { engine, module, base, adapter, text, to, name, signal } = options;
          const { vocabularySize } = module.checkModel(base);
          const metadata: GgufText = {
            'general.name': name,
            ...ggufText(await textOf(text, module), vocabularySize),
          };
          const type = form.type.toUpperCase() as 'F32' | 'F16' | 'Q8_0';
          const as = { kind: 'gguf' as const, type, metadata };
          await engine.exportModel({ base, adapter, to: join(to, file), as }, { signal });
        },
      };
    }
  }
}
