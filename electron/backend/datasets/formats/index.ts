import { AtelierError } from '../../../../shared/rpc/errors';
import type { Format } from './format';
import { jsonl } from './jsonl';

export type { Format, Place, ScannedRow } from './format';

export const formats: readonly Format[] = [jsonl];

export function formatOf(name: string): Format {
  const lower = name.toLowerCase();
  const found = formats.find(({ endings }) => endings.some((ending) => lower.endsWith(ending)));
  if (found) return found;
  const known = formats.map((format) => `${format.name} (${format.endings.join(', ')})`).join(', ');
  throw new AtelierError(
    'unsupported',
    `"${name}" is not a data file that can be read.`,
    `Formats: ${known}.`,
  );
}
