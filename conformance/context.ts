import { mkdtempSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { engineModule, type Device, type Engine, type ModelInfo } from '../native';
import type { Json } from './losses/case';
import { readTensors, type Tensor } from './safetensors';

/** A file that an item needs is not in the folder: what depends on it is absent too. */
export class MissingFile extends Error {}

/** What items share: the folder of fixtures and one engine. */
export class Context {
  readonly temporary = mkdtempSync(join(tmpdir(), 'conformance-'));
  private started: Engine | undefined;

  constructor(
    readonly root: string,
    readonly device: Device,
  ) {}

  get engine(): Engine {
    // The values are f32's: no TF32 in products. MLX reads this when it is loaded.
    process.env['MLX_ENABLE_TF32'] = '0';
    this.started ??= engineModule(this.device).createEngine({ device: this.device });
    return this.started;
  }

  /** Loads a model in f32, which is what the values were made in, also where a GPU would choose bf16. */
  load(path: string): Promise<ModelInfo> {
    return this.engine.loadModel(path, { dtype: 'f32' });
  }

  /** Absolute path of a file or folder of the fixtures. */
  path(name: string): string {
    const path = join(this.root, name);
    if (!existsSync(path)) throw new MissingFile(name);
    return path;
  }
  json(name: string): Json {
    return JSON.parse(readFileSync(this.path(name), 'utf8'));
  }
  tensors(name: string): Record<string, Tensor> {
    return readTensors(this.path(name));
  }
  text(name: string): string {
    return readFileSync(this.path(name), 'utf8');
  }

  async close(): Promise<void> {
    await this.started?.close();
    rmSync(this.temporary, { recursive: true, force: true });
  }
}
