import { algorithmByKey, type DataKind } from '../../../shared/algorithms';
import type { RunRecord } from '../store';

/** What a run learns from, and whether it makes a reward model; null: its algorithm is none of this version's. */
export function algorithmOfRun({
  own,
  config,
}: Pick<RunRecord, 'own' | 'config'>): { data: DataKind; scalarHead: boolean } | null {
  if (own) return { data: own.data, scalarHead: own.scalarHead ?? false };
  const algorithm = algorithmByKey(config.algorithm);
  if (!algorithm) return null;
  // of its default settings: the same for all
  const { data, scalarHead = false } = algorithm.needs(algorithm.params.parse({}));
  return { data, scalarHead };
}
