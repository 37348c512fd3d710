/** What the processes of several devices say to each other (face.ts: EngineModule.createRanks). */
import type { Engine, EngineErrorCode, EngineOptions, GenerateProgress } from '../face';

/** The engine's functions that answer for one device. */
export type RankVerb = Exclude<keyof Engine, 'device'>;

export interface RankStart {
  options: EngineOptions;
  /** What the ranks meet through; null: it is alone. */
  backend: 'nccl' | 'ring' | null;
  /** Set before the engine is loaded: which device it sees, and where the others are. */
  environment: Record<string, string>;
}

export type ToRank =
  | ({ type: 'start' } & RankStart)
  | { type: 'call'; job: number; verb: RankVerb; args: unknown[]; progress: boolean }
  | { type: 'cancel'; job: number };

export interface SaidError {
  code: EngineErrorCode;
  message: string;
  hint: string | undefined;
}

export type FromRank =
  | { type: 'started' }
  | { type: 'done'; job: number; result: unknown }
  | { type: 'progress'; job: number; progress: GenerateProgress }
  /** Job 0 is the start. */
  | { type: 'error'; job: number; error: SaidError };
