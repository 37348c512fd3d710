import { ROWS_AT_ONCE, type ModelInfo } from '../../../native/face';
import type { CommonParams, Needs } from '../../../shared/algorithms';
import type { Estimate } from '../../../shared/contract/runs';
import type { Rates } from '../train';

export interface RunShape {
  needs: Needs;
  /** Mean tokens of a prompt, or of an example. */
  rowTokens: number;
  /** Forwards without gradient of each of a step's rows. */
  forwards: number;
  rank: number;
  /** All parameters are trained. */
  full: boolean;
  optimizer: CommonParams['optimizer'];
  steps: number;
  /** Held-out rows; each is answered twice before and twice after. */
  heldOut: number;
  microTokens: number;
  keepCheckpoints: number;
}

/** Bytes that an optimiser remembers of each number (native/src/train/rules/rule.h). */
const STATE_BYTES: Record<CommonParams['optimizer'], number> = {
  adamw: 8,
  'adamw-8bit': 2,
  adafactor: 0,
  muon: 4,
};

interface Costs extends Pick<
  Estimate,
  'memory' | 'secondsPerStep' | 'totalSeconds' | 'diskBytes' | 'rollouts'
> {
  /** Memory without which the run cannot go on: answers that do not fit beside the others wait. */
  leastBytes: number;
}

/** Time, memory and disk of a run from the model's measured rates. Pure arithmetic: moves with every field. */
export function costsOf(
  model: Pick<ModelInfo, 'weightBytes' | 'parameters' | 'dtype'>,
  rates: Rates,
  shape: RunShape,
): Costs {
  const { needs, steps } = shape;
  const rollouts = needs.data === 'rollouts' ? needs.prompts * needs.groupSize : 0;
  const limit = needs.maxNewTokens ?? 0;
  const length = Math.min(rates.meanLength, limit);
  const longest = Math.min(rates.longest, limit);
  const rowsOfDataset = needs.prompts * (needs.data === 'pairs' ? 2 : 1);
  const rows = rollouts > 0 ? rollouts : rowsOfDataset;
  const trainRows = rows * rates.trainedShare;
  const rowTokens = Math.min(shape.rowTokens + length, needs.maxTokens ?? Infinity);

  const sampling = (prompts: number, answers: number) => {
    if (answers === 0) return 0;
    // answers beyond what is decoded at once follow as others end
    const decodeSteps = Math.max(longest, (answers * length) / ROWS_AT_ONCE);
    return (
      prompts * shape.rowTokens * rates.prefillPerToken +
      decodeSteps * rates.decodeFixed +
      answers * length * rates.decodePerRow
    );
  };
  const training = trainRows * rowTokens * rates.trainPerToken * needs.passes;
  // a forward is about a third of forward and backward
  const scoring = (shape.forwards * rows * rowTokens * rates.trainPerToken) / 3;
  const secondsPerStep = sampling(needs.prompts, rollouts) + training + scoring;
  const evaluation =
    rollouts > 0
      ? 4 * sampling(shape.heldOut, shape.heldOut)
      : // before and after; rated answers by the reference as well
        (2 *
          shape.heldOut *
          rowTokens *
          rates.trainPerToken *
          (rowsOfDataset / needs.prompts) *
          needs.roles.length) /
        3;

  const trained = shape.full ? model.parameters : rates.adapterPerRank * shape.rank;
  const moments = trained * STATE_BYTES[shape.optimizer];
  // f32 masters, beside weights of another type
  const masters = shape.full && model.dtype !== 'f32' ? trained * 4 : 0;
  const copies = shape.full && needs.roles.length > 1 ? 2 : 1;
  const weights = model.weightBytes * copies;
  const adapter = shape.full ? 0 : trained * 4;
  const optimizer = moments + masters + (shape.full ? trained * 4 : 0);
  const checkpoint = moments + masters + (shape.full ? model.weightBytes : adapter);
  const answer = (shape.rowTokens + longest) * rates.samplingPerToken;
  const cache = Math.min(rollouts, ROWS_AT_ONCE) * answer;
  const padded =
    trainRows * Math.max(rowTokens, Math.min(shape.rowTokens + longest, needs.maxTokens ?? Infinity));
  const train = Math.min(padded / needs.minibatches, shape.microTokens) * rates.trainingPerToken;
  // sampling and training take turns: what training needs beyond sampling is added
  const activations = Math.max(0, train - cache);
  const fixed = weights + adapter + optimizer;
  return {
    leastBytes: fixed + Math.max(train, Math.min(cache, answer)),
    memory: {
      weights,
      adapter,
      optimizer,
      cache,
      activations,
      total: fixed + cache + activations,
    },
    secondsPerStep,
    totalSeconds: steps * secondsPerStep + evaluation,
    diskBytes: (shape.keepCheckpoints + 1) * checkpoint + steps * rollouts * (300 + length * 12),
    rollouts: rollouts > 0 ? steps * rollouts : null,
  };
}
