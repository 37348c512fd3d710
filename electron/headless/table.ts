/** Rows as aligned text, the last column as long as it likes. */
export function table(head: string[], rows: string[][]): string {
  const all = head.some((cell) => cell !== '') ? [head, ...rows] : rows;
  const widths = head.map((_, k) => Math.max(...all.map((row) => row[k]!.length)));
  return all
    .map(
      (row) =>
        `${row
          .map((cell, k) => (k === row.length - 1 ? cell : cell.padEnd(widths[k]!)))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

export function bytes(count: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let value = count;
  let k = 0;
  while (value >= 1000 && k < units.length - 1) {
    value /= 1000;
    k++;
  }
  return `${value >= 100 || k === 0 ? Math.round(value) : value.toFixed(1)} ${units[k]}`;
}
