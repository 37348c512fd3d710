import type { Field, MetricInfo } from '../../../shared/algorithms';
import type { AlgorithmInfo } from '../../../shared/contract/algorithms';
import type { RunConfig } from '../../../shared/contract/runs';
import type { UsableAlgorithm } from '../train';

/** A setting that does not fit. */
export interface SettingFault {
  path: PropertyKey[];
  message: string;
  hint?: string | undefined;
}

/** The algorithm of a configuration, before its settings are known to fit. */
export interface FoundAlgorithm {
  label: string;
  rewarded: boolean;
  fields: readonly Field[];
  /** All that a run of it reports. */
  metrics: readonly MetricInfo[];
  /** Of an algorithm of one's own: what its run keeps. */
  own: { code: string; info: AlgorithmInfo } | null;
  settle(
    params: RunConfig['params'],
  ): Promise<{ faults: SettingFault[] } | { params: Record<string, unknown>; algorithm: UsableAlgorithm }>;
}
