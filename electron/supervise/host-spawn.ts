import type { Port } from '../../shared/rpc/port';

/**
 * `reward`: runs users' reward code. `template`: renders models' chat templates. `verify`: reloads an export in a
 * fresh process. `rank`: drives one of several GPUs.
 */
export type SpawnKind = 'reward' | 'template' | 'verify' | 'rank';

export interface Spawned {
  pid: number;
  port: Port;
  kill(signal: 'SIGTERM' | 'SIGKILL'): void;
  /** Called once, also when it has ended already. `words`: of a rank, the end of what it wrote to stderr; else ''. */
  onExit(listener: (code: number | null, signal: string | null, words: string) => void): void;
}

/** Starts a helper process. Given to the backend by its host: only Electron's main can start utility processes. */
export type HostSpawn = (kind: SpawnKind) => Promise<Spawned>;
