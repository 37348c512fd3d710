import type { ChosenFit } from '../../shared/contract/runs';
import { bytes } from './table';

/** What was chosen and why. */
export function sayFit({ reasons, leastBytes, availableBytes }: ChosenFit): void {
  for (const reason of reasons) process.stdout.write(`${reason}\n`);
  process.stdout.write(`It takes about ${bytes(leastBytes)} of ${bytes(availableBytes)}.\n`);
}
