import type { TrainRow } from './batch';

/** A prompt with the answer that was sampled to it. */
export interface SampledRow {
  prompt: Int32Array;
  ids: Int32Array;
  /** By token of the answer, under the distribution it was drawn from. */
  logprob: Float32Array;
}

/** Prompt and answer end to end. */
export function wholeRow({ prompt, ids }: Pick<SampledRow, 'prompt' | 'ids'>): Int32Array {
  const all = new Int32Array(prompt.length + ids.length);
  all.set(prompt);
  all.set(ids, prompt.length);
  return all;
}

/** Target t is token t + 1: the answer's first token is target prompt.length - 1. */
export const firstTarget = ({ prompt }: Pick<SampledRow, 'prompt'>): number => prompt.length - 1;

/** [T] 0 on the prompt's targets, then the answer's numbers. */
export function onAnswer(row: Pick<SampledRow, 'prompt' | 'ids'>, values: Float32Array): Float32Array {
  const all = new Float32Array(row.prompt.length + row.ids.length - 1);
  all.set(values, firstTarget(row));
  return all;
}

export interface RowJudgement {
  group: number;
  use: TrainRow['use'];
  learns: boolean;
  /** Of the answer, or of each of its tokens. */
  advantage: number | Float32Array;
}

/** A judged answer as the trainer takes it. */
export function sampledTrainRow(row: SampledRow, judged: RowJudgement): TrainRow {
  const { advantage } = judged;
  const targets = row.prompt.length + row.ids.length - 1;
  return {
    ids: wholeRow(row),
    group: judged.group,
    use: judged.use,
    loss: new Uint8Array(targets).fill(judged.learns ? 1 : 0, firstTarget(row)),
    values: {
      samplerLogp: onAnswer(row, row.logprob),
      ...(typeof advantage === 'number' ? { advantage } : { tokenAdvantage: onAnswer(row, advantage) }),
    },
  };
}
