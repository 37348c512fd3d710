import type { Engine, ModelInfo } from '../../../native/face';
import type { RunConfig } from '../../../shared/contract/runs';
import type { Checked } from './check-config';
import type { RunsOptions } from './options';
import { microTokensOf, prepareData, type PreparedData } from './prepare';

/** Rows that are measured with; more tell no more. */
const SOME_ROWS = 512;

/** What measuring a run begins with. */
export interface Opened {
  prepared: PreparedData;
  engine: Engine;
  model: ModelInfo;
  /** Padded tokens that the run would forward and differentiate at once. */
  microTokens: number;
}

/**
 * Opens a run's first rows and its model. The model stays in memory for who needs it next, nothing else does.
 * @throws AtelierError of the rows with their `path`, EngineError
 */
export async function withOpened<T>(
  config: RunConfig,
  checked: Checked,
  { engineHost, sources }: RunsOptions,
  signal: AbortSignal,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  const { model, params } = checked;
  const prepared = await prepareData(config, checked, sources, { limit: SOME_ROWS, signal });
  try {
    const lease = await engineHost.acquire(model.path, model.bytes, params.baseWeights);
    try {
      const engine = await engineHost.engine();
      const microTokens = await microTokensOf(config, engine, model, params);
      return await work({ prepared, engine, model: lease.model, microTokens });
    } finally {
      lease.release();
    }
  } finally {
    prepared.close();
  }
}
