import type {
  AdapterId,
  AdapterInfo,
  Device,
  Engine,
  EngineModule,
  EngineOptions,
  ModelInfo,
  RankProcess,
} from '../../../native/face';
import { BASE_BITS, type BaseWeights } from '../../../shared/algorithms';

export type EngineState = { state: 'starting' | 'ready' } | { state: 'failed'; error: unknown };

interface Resident {
  info: ModelInfo;
  /** Who needs it to stay. */
  users: number;
  usedAt: number;
  /** Adapters held beside it, by folder. */
  adapters: Map<string, AdapterInfo>;
}

/** A model that stays in memory until `release`. */
export interface Lease {
  model: ModelInfo;
  /** An adapter of it from a PEFT folder, loaded once. */
  adapter(folder: string): Promise<AdapterInfo>;
  release(): void;
}

/** What a run's checkpoint holds: an adapter on the model that it began with, or a whole model. */
export type Taught =
  { kind: 'adapter'; folder: string; weights: BaseWeights } | { kind: 'model'; folder: string };

/** What an engine over several devices is made with. */
export interface SeveralDevices {
  /** Numbers of the devices that work together; null: the first one, in this process. */
  chosen(): readonly number[] | null;
  spawn(kind: 'rank'): Promise<RankProcess>;
}

/**
 * The one engine of a backend, made at first use, with the models that it holds. A model stays after use, so
 * that the next chat is quick, until another needs the room.
 */
export class EngineHost {
  #engine: Promise<Engine> | null = null;
  #devices: readonly number[] | null = null;
  /** Of the engine before: two would want the memory at once. */
  #closing: Promise<void> | null = null;
  /** Who holds a model of the engine, or is about to. */
  readonly #holders = new Set<symbol>();
  #state: EngineState = { state: 'starting' };
  readonly #resident = new Map<string, Promise<Resident>>();

  constructor(
    readonly device: Device,
    private readonly module: () => EngineModule,
    /** What engines are made with, asked for each. */
    private readonly options: () => Omit<EngineOptions, 'device'> = () => ({}),
    private readonly several: SeveralDevices | null = null,
  ) {}

  get state(): EngineState {
    return this.#state;
  }

  /** Devices that the engine works on together; null: one, in this process. */
  get devices(): readonly number[] | null {
    return this.#devices;
  }

  /** @throws EngineError device_unavailable and others; the next call tries again. */
  engine(): Promise<Engine> {
    this.#engine ??= this.#start();
    return this.#engine;
  }

  async #start(): Promise<Engine> {
    this.#state = { state: 'starting' };
    try {
      if (this.#closing) await this.#closing;
      const engine = await this.#create();
      this.#state = { state: 'ready' };
      return engine;
    } catch (error) {
      this.#state = { state: 'failed', error };
      this.#engine = null;
      throw error;
    }
  }

  async #create(): Promise<Engine> {
    const options = { device: this.device, ...this.options() };
    const { several } = this;
    const devices = several?.chosen() ?? null;
    this.#devices = devices;
    if (several === null || devices === null) return this.module().createEngine(options);
    return this.module().createRanks({
      ...options,
      devices,
      spawn: () => several.spawn('rank'),
      onEnd: (error, gone) => {
        this.#closing = gone;
        // what it held went with it; the next call makes another
        this.#state = { state: 'failed', error };
        this.#engine = null;
        this.#resident.clear();
        this.#holders.clear();
      },
    });
  }

  /** Where other devices have been chosen, another engine takes over as soon as nobody uses this one. */
  async renew(): Promise<void> {
    const made = this.#engine;
    const chosen = this.several?.chosen() ?? null;
    if (made === null || this.#holders.size > 0 || String(chosen) === String(this.#devices)) return;
    const engine = await made.catch(() => null);
    const jobs = engine === null ? 0 : (await engine.stats()).jobs;
    if (jobs === 0 && this.#holders.size === 0 && this.#engine === made) await this.close();
  }

  /**
   * The model at a path with its weights as stored or quantised, loaded once each. `weightBytes` (of f32) of it must
   * fit; models nobody uses make room.
   */
  async acquire(path: string, weightBytes: number, weights: BaseWeights = 'stored'): Promise<Lease> {
    await this.renew();
    return this.#holding((letGo) => this.#acquire(path, weightBytes, weights, letGo));
  }

  /** Work that ends with something held, until `letGo`. */
  async #holding<T>(work: (letGo: () => void) => Promise<T>): Promise<T> {
    const holder = Symbol();
    const letGo = () => void this.#holders.delete(holder);
    this.#holders.add(holder);
    try {
      return await work(letGo);
    } catch (error) {
      letGo();
      throw error;
    }
  }

  async #acquire(path: string, weightBytes: number, weights: BaseWeights, letGo: () => void): Promise<Lease> {
    const engine = await this.engine();
    const key = `${weights} ${path}`;
    let loading = this.#resident.get(key);
    if (!loading) {
      loading = this.#load(engine, path, weightBytes, BASE_BITS[weights]);
      this.#resident.set(key, loading);
      loading.catch(() => this.#resident.delete(key));
    }
    const resident = await loading;
    resident.users++;
    let held = true;
    return {
      model: resident.info,
      adapter: (folder) => this.#adapter(engine, resident, folder),
      release: () => {
        if (!held) return;
        held = false;
        resident.users--;
        letGo();
        resident.usedAt = Date.now();
      },
    };
  }

  /** A copy for who changes its weights; nobody else gets it, and `release` unloads it. */
  async own(path: string, weightBytes: number): Promise<{ model: ModelInfo; release(): Promise<void> }> {
    return this.#holding(async (letGo) => {
      const engine = await this.engine();
      await this.#makeRoom(engine, weightBytes);
      await this.#dropIdle(engine, `stored ${path}`);
      const model = await engine.loadModel(path);
      return {
        model,
        release: async () => {
          letGo();
          await engine.unloadModel(model.id);
          await engine.clearCache();
        },
      };
    });
  }

  /** A model with what a run has taught it, to answer with; see `acquire`. Without it in the form of `plain`. */
  async weights(
    base: { path: string; bytes: number },
    taught: Taught | null,
    plain: BaseWeights = 'stored',
  ): Promise<{ model: ModelInfo; adapter: AdapterId | null; release(): void }> {
    const path = taught?.kind === 'model' ? taught.folder : base.path;
    const form = taught?.kind === 'adapter' ? taught.weights : taught ? 'stored' : plain;
    const lease = await this.acquire(path, base.bytes, form);
    const { model, release } = lease;
    if (taught?.kind !== 'adapter') return { model, adapter: null, release };
    try {
      return { model, adapter: (await lease.adapter(taught.folder)).id, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  async #adapter(engine: Engine, resident: Resident, folder: string): Promise<AdapterInfo> {
    const there = resident.adapters.get(folder);
    if (there) return there;
    const adapter = await engine.loadAdapter(resident.info.id, folder);
    resident.adapters.set(folder, adapter);
    // a few stay for side-by-side chats; the oldest goes
    const [oldest] = resident.adapters.keys();
    if (resident.adapters.size > 4 && oldest !== undefined) {
      const gone = resident.adapters.get(oldest)!;
      resident.adapters.delete(oldest);
      await engine.unloadAdapter(gone.id);
    }
    return adapter;
  }

  async #load(engine: Engine, path: string, weightBytes: number, bits: number | null): Promise<Resident> {
    // scales and biases of groups of 64 take half a bit a number and more
    await this.#makeRoom(engine, bits === null ? weightBytes : (weightBytes * (bits + 1)) / 32);
    const info = await engine.loadModel(path, bits === null ? {} : { quantize: { bits } });
    return { info, users: 0, usedAt: Date.now(), adapters: new Map() };
  }

  /** Of a model that is trained as a whole nobody needs a second copy: a run's memory would be as it was estimated. */
  async #dropIdle(engine: Engine, key: string): Promise<void> {
    const resident = await this.#resident.get(key)?.catch(() => null);
    if (!resident || resident.users > 0) return;
    this.#resident.delete(key);
    await engine.unloadModel(resident.info.id);
  }

  async #makeRoom(engine: Engine, bytes: number): Promise<void> {
    const idle: [string, Resident][] = [];
    // those of now: the model that is being loaded joins them, and would wait for itself
    for (const [path, loading] of [...this.#resident]) {
      const resident = await loading.catch(() => null);
      if (resident && resident.users === 0) idle.push([path, resident]);
    }
    idle.sort((a, b) => a[1].usedAt - b[1].usedAt);
    for (const [path, resident] of idle) {
      const { activeBytes, memoryLimitBytes } = await engine.stats();
      // half the limit is left to caches and activations
      if (activeBytes + bytes <= memoryLimitBytes / 2) return;
      if (resident.users > 0) continue;
      this.#resident.delete(path);
      await engine.unloadModel(resident.info.id);
      await engine.clearCache();
    }
  }

  async close(): Promise<void> {
    const made = this.#engine;
    this.#engine = null;
    this.#resident.clear();
    this.#holders.clear();
    this.#closing = (async () => {
      const engine = await made?.catch(() => null);
      await engine?.close();
    })().finally(() => (this.#closing = null));
    await this.#closing;
  }
}
