import type { OneRun } from './one-run';

/** Markdown, a line a case: what its seeds' held-out measure was and became. */
export function learnTable(runs: readonly OneRun[]): string {
  const names = [...new Set(runs.map((run) => run.case))];
  return [
    '| case | held-out measure | must move by | before → after, a seed each | processor seconds |',
    '| --- | --- | --- | --- | --- |',
    ...names.map((name) => lineOf(runs.filter((run) => run.case === name))),
    '',
  ].join('\n');
}

function lineOf(runs: readonly OneRun[]): string {
  const { case: name, measure, margin } = runs[0]!;
  const moved = runs.map(
    ({ before, after, fault }) =>
      `${before.toFixed(3)} → ${after.toFixed(3)}${fault === null ? '' : ` **${fault}**`}`,
  );
  const seconds = runs.map(({ processorSeconds }) => processorSeconds.toFixed(0));
  return `| ${[name, measure, margin, moved.join(', '), seconds.join(', ')].join(' | ')} |`;
}
