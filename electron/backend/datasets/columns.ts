import type { z } from 'zod';
import type { Column } from '../../../shared/contract/datasets';

type Described = z.infer<typeof Column>;
type Kind = Exclude<Described['type'], 'mixed' | 'null'>;

const maxColumns = 200;
const sampleLength = 200;

/** What the rows' columns hold, counted one row after another. */
export class ColumnCounter {
  readonly #columns = new Map<string, { kinds: Set<Kind>; filled: number; sample: string }>();
  #rows = 0;

  add(row: Record<string, unknown>): void {
    this.#rows++;
    for (const [name, value] of Object.entries(row)) {
      let column = this.#columns.get(name);
      if (!column) {
        if (this.#columns.size >= maxColumns) continue;
        column = { kinds: new Set(), filled: 0, sample: '' };
        this.#columns.set(name, column);
      }
      if (value === null || value === undefined) continue;
      column.kinds.add(kind(value));
      if (value === '') continue;
      column.filled++;
      if (column.sample === '') column.sample = sample(value);
    }
  }

  columns(): Described[] {
    return [...this.#columns].map(([name, { kinds, filled, sample: shown }]) => ({
      name,
      type: kinds.size > 1 ? 'mixed' : ([...kinds][0] ?? 'null'),
      filled: this.#rows === 0 ? 0 : filled / this.#rows,
      sample: shown,
    }));
  }
}

function kind(value: unknown): Kind {
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean' ? type : 'object';
}

function sample(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > sampleLength ? `${text.slice(0, sampleLength)}…` : text;
}
