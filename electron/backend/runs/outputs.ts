import type { AdapterId, Engine, ModelId, Rows } from '../../../native/face';

/** What an export is judged by: a reward model by the scores of its head. */
export type Compared = 'logits' | 'scores';

/** What a model gives for the end of each row: logits [N, V], or scores [N]. */
export async function outputsOf(
  engine: Pick<Engine, 'logits' | 'score'>,
  what: Compared,
  weights: { model: ModelId; adapter: AdapterId | null },
  rows: Rows,
): Promise<Float32Array> {
  if (what === 'logits') return engine.logits({ ...weights, rows, positions: 'last' });
  return (await engine.score({ ...weights, rows, logp: false, score: true })).score!;
}
