import type { CodeProblem } from '../../../shared/contract/rewards';
import type { z } from 'zod';
import { strip } from './code';
import type { RewardScorer } from './scorer';

/** Syntax, then the module itself: does it load, and is there a function to call? No data is touched. */
export async function checkReward(
  scorer: RewardScorer,
  code: string,
): Promise<z.infer<typeof CodeProblem>[]> {
  const { javascript, mistakes } = await strip(code);
  if (mistakes.length > 0) return mistakes;
  const mistake = await scorer.inspect(javascript);
  return mistake ? [{ line: mistake.line ?? 1, column: mistake.column ?? 1, message: mistake.message }] : [];
}
