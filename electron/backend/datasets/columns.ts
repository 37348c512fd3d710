import type { z } from 'zod';
import type { Column } from '../../../shared/contract/datasets';
import { ratingOf } from './rating';

type Described = z.infer<typeof Column>;
type Kind = Exclude<Described['type'], 'mixed' | 'null'>;

/** More are counted, not described: a table of them could not be read. */
export const maxColumns = 200;
/** A file whose every row has names of its own must not fill the memory. */
const maxNames = 10_000;
const sampleLength = 200;

interface Counted {
  kinds: Set<Kind>;
  filled: number;
  sample: string;
  /** Keys of its chat messages; null: not all its values are lists of them. */
  turns: 'role' | 'from' | null | undefined;
  rates: boolean;
}

/** What the rows' columns hold, counted one row after another. */
export class ColumnCounter {
  readonly #columns = new Map<string, Counted>();
  readonly #more = new Set<string>();
  #rows = 0;

  add(row: Record<string, unknown>): void {
    this.#rows++;
    for (const [name, value] of Object.entries(row)) {
      let column = this.#columns.get(name);
      if (!column) {
        if (this.#columns.size >= maxColumns) {
          if (this.#more.size < maxNames) this.#more.add(name);
          continue;
        }
        column = { kinds: new Set(), filled: 0, sample: '', turns: undefined, rates: true };
        this.#columns.set(name, column);
      }
      if (value === null || value === undefined) continue;
      column.kinds.add(kind(value));
      if (value === '') continue;
      column.filled++;
      if (column.sample === '') column.sample = sample(value);
      if (column.turns !== null) {
        const found = turnsOf(value);
        column.turns = column.turns === undefined || column.turns === found ? found : null;
      }
      column.rates &&= ratingOf(value) !== null;
    }
  }

  columns(): Described[] {
    return [...this.#columns].map(([name, { kinds, filled, sample: shown, turns, rates }]) => ({
      name,
      type: kinds.size > 1 ? 'mixed' : ([...kinds][0] ?? 'null'),
      filled: this.#rows === 0 ? 0 : filled / this.#rows,
      sample: shown,
      ...(turns ? { turns } : {}),
      ...(rates && filled > 0 ? { rates } : {}),
    }));
  }

  /** How many columns there are besides those described. */
  get more(): number {
    return this.#more.size;
  }
}

function kind(value: unknown): Kind {
  if (Array.isArray(value)) return 'array';
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean' ? type : 'object';
}

/** Which keys a chat message, or the first of a list of them, has. */
function turnsOf(value: unknown): 'role' | 'from' | null {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof first !== 'object' || first === null) return null;
  if ('role' in first && 'content' in first) return 'role';
  return 'from' in first && 'value' in first ? 'from' : null;
}

function sample(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > sampleLength ? `${text.slice(0, sampleLength)}…` : text;
}
