import { ROWS_AT_ONCE, type ModelInfo } from '../../../native/face';
import type { CommonParams, Needs } from '../../../shared/algorithms';
import type { Estimate } from '../../../shared/contract/runs';
import {
  largestMicroBatch,
  mostOnOne,
  STATE_BYTES,
  updateBytes,
  type MicroBatch,
  type Rates,
} from '../train';

/** Time goes by the mean; memory by the longest, for rows that are forwarded together are padded to it. */
export interface Lengths {
  mean: number;
  longest: number;
}

export interface RunShape {
  needs: Needs;
  /** Tokens of a prompt, or of an example. */
  row: Lengths;
  /** Of what is answered: of a prompt. */
  prompt: Lengths;
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
  /** Lines that a step's rows are packed on; null: each is its own. */
  packed: MicroBatch | null;
  keepCheckpoints: number;
  /** Bytes of the teacher and the reward model, where the policy's base does not serve as them too. */
  others: number;
  /** Of a device. */
  availableBytes: number;
  /** How many share the work. */
  devices: number;
}

export interface Costs extends Pick<
  Estimate,
  'memory' | 'secondsPerStep' | 'totalSeconds' | 'diskBytes' | 'rollouts'
> {
  /** Memory without which the run cannot go on: answers that do not fit beside the others wait. */
  leastBytes: number;
}

/**
 * Of so many rows, of which a share is trained, those that are in a step in forty: memory goes by a run's largest step.
 * Which answers are cut off, say, differs from step to step.
 */
const mostOf = (rows: number, share: number) =>
  Math.min(rows, rows * share + 2 * Math.sqrt(rows * share * Math.max(0, 1 - share)));

/** Time, memory and disk of a run from the model's measured rates. Pure arithmetic: moves with every field. */
export function costsOf(
  model: Pick<ModelInfo, 'weightBytes' | 'parameters' | 'dtype'>,
  rates: Rates,
  shape: RunShape,
): Costs {
  const { needs, steps } = shape;
  const { policy, critic, scoring } = rates;
  const limit = needs.maxNewTokens ?? 0;
  const length = Math.min(rates.meanLength, limit);
  const longest = Math.min(rates.longest, limit);
  const rollouts = needs.data === 'rollouts' ? needs.prompts * needs.groupSize : 0;
  // examples that the policy answers itself
  const own = rollouts > 0 ? 0 : Math.round(needs.prompts * (needs.onPolicy ?? 0));
  const answers = rollouts + own;
  const rowsOfDataset = needs.prompts * (needs.data === 'pairs' ? 2 : 1);
  const rows = rollouts > 0 ? rollouts : rowsOfDataset;
  const trainRows = rows * rates.trainedShare;
  const most = needs.maxTokens ?? Infinity;
  const answered = Math.min(shape.prompt.mean + length, most);
  const rowTokens = (answers * answered + (rows - answers) * Math.min(shape.row.mean, most)) / rows;

  // a prompt's answers stay on one device
  const answersOnOne = (prompts: number, count: number) =>
    count === 0 ? 0 : (mostOnOne(prompts, shape.devices) * count) / prompts;
  const sampling = (prompts: number, all: number) => {
    if (all === 0) return 0;
    const count = answersOnOne(prompts, all);
    // answers beyond what is decoded at once follow as others end
    const decodeSteps = Math.max(longest, (count * length) / ROWS_AT_ONCE);
    return (
      mostOnOne(prompts, shape.devices) * shape.prompt.mean * rates.prefillPerToken +
      decodeSteps * rates.decodeFixed +
      count * length * rates.decodePerRow
    );
  };
  const judging = (count: number) => count * answered * (scoring?.secondsPerToken ?? 0);
  const update = policy.secondsPerToken + (critic?.secondsPerToken ?? 0);
  const training = trainRows * rowTokens * update * needs.passes;
  // a forward is about a third of forward and backward
  const forwards = (shape.forwards * rows * rowTokens * policy.secondsPerToken) / 3;
  const asked = rollouts > 0 ? needs.prompts : own;
  const secondsPerStep = sampling(asked, answers) + judging(rollouts) + training + forwards;
  const compared = needs.roles.filter((role) => role === 'policy' || role === 'reference').length;
  const evaluation =
    rollouts > 0
      ? 4 * (sampling(shape.heldOut, shape.heldOut) + judging(shape.heldOut))
      : // before and after; rated answers by the reference as well
        (2 *
          shape.heldOut *
          shape.row.mean *
          policy.secondsPerToken *
          (rowsOfDataset / needs.prompts) *
          compared) /
        3;

  const numbersOf = (adapter: { perRank: number; fixed: number } | null | undefined) =>
    adapter ? adapter.perRank * shape.rank + adapter.fixed : 0;
  const ofCritic = numbersOf(critic?.adapter);
  const trained = shape.full ? model.parameters : numbersOf(policy.adapter);
  const moments =
    trained * STATE_BYTES[shape.optimizer] +
    // Muon is for whole models alone
    ofCritic * STATE_BYTES[shape.optimizer === 'muon' ? 'adamw' : shape.optimizer];
  // f32 masters, beside weights of another type
  const masters = shape.full && model.dtype !== 'f32' ? trained * 4 : 0;
  const copies = shape.full && needs.roles.some((role) => role === 'reference' || role === 'critic') ? 2 : 1;
  const weights = model.weightBytes * copies;
  const adapter = (shape.full ? 0 : trained * 4) + ofCritic * 4;
  const optimizer = moments + masters;
  const checkpoint = moments + masters + adapter + (shape.full ? model.weightBytes : 0);
  const answer = rates.samplingPerRow + (shape.prompt.mean + longest) * rates.samplingPerToken;
  const slots = Math.min(answersOnOne(asked, answers), ROWS_AT_ONCE) * answer;
  const padded = Math.max(
    answers > 0 ? Math.min(shape.prompt.longest + longest, most) : 0,
    answers < rows ? Math.min(shape.row.longest, most) : 0,
  );
  const unit = needs.data === 'pairs' ? 2 : 1;
  const lines = Math.max(unit, Math.round(mostOf(rows / needs.minibatches, rates.trainedShare)));
  const all = shape.packed ?? { lines, length: padded };
  // a row is not divided
  const onOne = unit * mostOnOne(all.lines / unit, shape.devices);
  const micro = largestMicroBatch({ ...all, lines: onOne, unit }, shape.microTokens);
  const train = Math.max(
    updateBytes(policy.bytes, micro, trained * 4),
    critic ? updateBytes(critic.bytes, micro, ofCritic * 4) : 0,
    scoring
      ? Math.min(mostOnOne(rollouts, shape.devices) * padded, shape.microTokens) * scoring.bytesPerToken
      : 0,
  );
  const { others } = shape;
  const fixed = weights + adapter + optimizer + others;
  // what speeds sampling up is held where it fits beside all answers
  const held = answers > 0 && fixed + slots + rates.samplingHeld <= shape.availableBytes;
  const cache = slots + (held ? rates.samplingHeld : 0);
  // sampling, scoring and training take turns: what the largest needs beyond sampling is added
  const activations = Math.max(0, train - cache);
  return {
    leastBytes: fixed + Math.max(train, answers > 0 ? answer : 0),
    memory: {
      weights,
      adapter,
      optimizer,
      others,
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
