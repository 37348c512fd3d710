import type { EngineHost, Log, SettingsFile } from '../system';
import type { Sources } from './sources';

export interface RunsOptions {
  home: string;
  sources: Sources;
  engineHost: EngineHost;
  settings: SettingsFile;
  log: Log;
  /** Versions and device, for each run's provenance. */
  provenance: Record<string, string>;
  /** The backend before this one died at work: its run goes on by itself. */
  restarted: boolean;
  /** Name of the run at work, null when none. */
  onWorking?: (run: string | null) => void;
}
