import type { OptimizerSpec } from '../../../native/face';
import { ADAMW, MUON, type CommonParams } from '../../../shared/algorithms';

/** Bytes that an optimiser remembers of each number (native/src/train/rules/rule.h). */
export const STATE_BYTES: Record<CommonParams['optimizer'], number> = {
  adamw: 8,
  'adamw-8bit': 2,
  adam: 8,
  adafactor: 0,
  muon: 4,
};

/** The optimiser that a run's settings ask for. */
export function optimizerSpec({
  optimizer,
  weightDecay,
}: Pick<CommonParams, 'optimizer' | 'weightDecay'>): OptimizerSpec {
  if (optimizer === 'muon') return { kind: optimizer, ...MUON, ...ADAMW, weightDecay };
  // the rate as it stands: one that suits AdamW does here
  if (optimizer === 'adafactor') return { kind: optimizer, relative: false, weightDecay };
  return { kind: optimizer, ...ADAMW, weightDecay };
}
