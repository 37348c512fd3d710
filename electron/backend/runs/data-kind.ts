import { algorithmByKey, dataKindOf, type DataKind } from '../../../shared/algorithms';
import type { RunRecord } from '../store';

/** What a run learns from; null: its algorithm is one that this version does not have. */
export function dataKindOfRun({ own, config }: Pick<RunRecord, 'own' | 'config'>): DataKind | null {
  if (own) return own.data;
  const algorithm = algorithmByKey(config.algorithm);
  return algorithm ? dataKindOf(algorithm) : null;
}
