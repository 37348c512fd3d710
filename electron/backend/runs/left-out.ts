import type { DropReason, LeftOut } from '../../../shared/contract/datasets';
import type { RunStore } from '../store';
import { leftOut, type PreparedData } from './prepare';

/** A preparation that took longer is told of. */
const LONG_SECONDS = 5;

const words: Record<DropReason, string> = {
  unreadable: 'cannot be read',
  missing: 'lack a value',
  empty: 'are empty',
  'too-long': 'are too long',
  duplicate: 'stand there already',
  'same-answers': 'have two equal answers',
  other: 'cannot be used',
};

/** Writes into the run what became of its data's rows. */
export function tellOfRows(store: RunStore, prepared: PreparedData, seconds: number): void {
  const { left, heldOutLeft, data } = prepared;
  for (const [out, used, rows] of [
    [left, data.rows.length, 'rows'],
    [heldOutLeft, data.heldOut.length, 'held-out rows'],
  ] as const) {
    if (out.length === 0) continue;
    const total = leftOut(out);
    store.addEvent({
      step: 0,
      level: 'warning',
      code: 'rows_left_out',
      message: `${count(total)} of ${count(total + used)} ${rows} are left out${reasons(out)}`,
    });
  }
  if (seconds < LONG_SECONDS) return;
  const all = data.rows.length + leftOut(left);
  store.addEvent({
    step: 0,
    level: 'info',
    code: 'rows_prepared',
    message: `${count(all)} rows prepared in ${Math.round(seconds)} s, ${count(Math.round(all / seconds))} a second.`,
  });
}

function reasons(left: readonly LeftOut[]): string {
  const [only, more] = left;
  if (only && !more) return `. The first, line ${only.line}: ${only.message}`;
  const each = left.map(
    ({ reason, count: rows, line, message }) =>
      `${count(rows)} ${words[reason]} (the first, line ${line}: ${message})`,
  );
  return `: ${each.join('; ')}.`;
}

const count = (value: number) => value.toLocaleString('en-US');
