import type { DropReason, LeftOut } from '../../../shared/contract/datasets';

/** Rows that are left out, counted by reason. */
export class Dropped {
  readonly #reasons = new Map<DropReason, LeftOut>();

  add(reason: DropReason, line: number, message: string, count = 1): void {
    const known = this.#reasons.get(reason);
    if (known) known.count += count;
    else this.#reasons.set(reason, { reason, count, line, message });
  }

  get total(): number {
    return [...this.#reasons.values()].reduce((sum, { count }) => sum + count, 0);
  }

  /** The most frequent first. */
  list(): LeftOut[] {
    return [...this.#reasons.values()].toSorted((a, b) => b.count - a.count);
  }
}
