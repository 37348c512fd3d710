/** What came out for one file of the fixtures, or for a part of it. */
export interface Line {
  path: string;
  /** The part of the file, where the line is not about all of it. */
  part?: string;
  status: 'pass' | 'fail' | 'absent' | 'not built';
  item?: string;
  /** package==version that made the values. */
  source?: string;
  maxError?: number;
  tolerance?: string;
  /** Why: what is out of tolerance, what is missing, which issue builds it. */
  detail?: string;
}

const WIDTH = { 'not built': 'not built', pass: 'pass', fail: 'FAIL', absent: 'absent' } as const;

export function format(line: Line): string {
  const numbers =
    line.maxError === undefined
      ? ''
      : `max error ${line.maxError === 0 ? '0' : line.maxError.toExponential(1)}${line.tolerance ? ` (tolerance ${line.tolerance})` : ''}`;
  return [
    WIDTH[line.status].padEnd(9),
    line.path + (line.part ? ` [${line.part}]` : ''),
    line.item,
    line.source,
    numbers,
    line.detail,
  ]
    .filter((part) => part)
    .join(' · ');
}

export const count = (lines: Line[], status: Line['status']): number =>
  lines.filter((l) => l.status === status).length;

export const summary = (lines: Line[]): string =>
  `${count(lines, 'pass')} passed, ${count(lines, 'fail')} failed, ` +
  `${count(lines, 'absent')} absent, ${count(lines, 'not built')} not built`;
