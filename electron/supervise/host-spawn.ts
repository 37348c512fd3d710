import type { Port } from '../../shared/rpc/port';

/**
 * `reward`: runs users' reward code. `template`: renders models' chat templates. `verify`: reloads an export in a
 * fresh process.
 */
export type SpawnKind = 'reward' | 'template' | 'verify';

export interface Spawned {
  pid: number;
  port: Port;
  kill(signal: 'SIGTERM' | 'SIGKILL'): void;
  /** Called once, also when it has ended already. */
  onExit(listener: (code: number | null, signal: string | null) => void): void;
}

/** Starts a helper process. Given to the backend by its host: only Electron's main can start utility processes. */
export type HostSpawn = (kind: SpawnKind) => Promise<Spawned>;
