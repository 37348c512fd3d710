import type { Draft, Library, Resolved } from './draft';

export interface Problem {
  level: 'error' | 'warning';
  path: string;
  message: string;
  hint?: string | undefined;
}

/** What each part of the form gets. */
export interface PartProps {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  resolved: Resolved;
  library: Library;
  problemAt: (path: string) => Problem | undefined;
}

/** Props of a Field for a path, with its problem where it has one. */
export function fieldProps(problemAt: PartProps['problemAt'], path: string) {
  const problem = problemAt(path);
  return {
    path,
    ...(problem === undefined
      ? {}
      : {
          problem: problem.hint === undefined ? problem.message : `${problem.message} ${problem.hint}`,
          level: problem.level,
        }),
  };
}

/** Scrolls to the field of a path, or to the closest one above it, and gives it the focus. */
export function jumpTo(path: string): void {
  for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
    const field = document.querySelector<HTMLElement>(`[data-path="${CSS.escape(at)}"]`);
    if (field === null) continue;
    field.scrollIntoView({ block: 'center', behavior: 'smooth' });
    field
      .querySelector<HTMLElement>('input, button, textarea, [tabindex="0"]')
      ?.focus({ preventScroll: true });
    return;
  }
}
