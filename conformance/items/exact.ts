import type { Line } from '../report';
import { shortSource } from './item';

/** Things that have to be the same: text, ids, masks. */
export class Exact {
  readonly failures: string[] = [];
  compared = 0;

  same(what: string, actual: unknown, expected: unknown): void {
    this.compared++;
    const [a, e] = [JSON.stringify(actual), JSON.stringify(expected)];
    if (a !== e) this.failures.push(`${what}: ${around(a, e)}, expected ${around(e, a)}`);
  }

  /** A comparison that did not come about, with why. */
  failed(why: string): void {
    this.compared++;
    this.failures.push(why);
  }

  line(path: string, source: unknown): Line {
    return {
      path,
      status: this.failures.length > 0 || this.compared === 0 ? 'fail' : 'pass',
      source: shortSource(source),
      maxError: this.failures.length > 0 ? undefined : 0,
      tolerance: 'exact',
      detail:
        this.failures.length > 0
          ? `${this.failures.length} of ${this.compared} differ: ${this.failures[0]}`
          : `${this.compared} compared`,
    };
  }
}

/** The place where the two part. */
function around(a = 'nothing', b = 'nothing'): string {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  const from = Math.max(0, i - 15);
  return `${from > 0 ? '…' : ''}${a.slice(from, i + 25)}`;
}
