import type { Context } from '../context';
import { MissingFile } from '../context';
import type { Comparer } from '../losses/compare';
import type { Line } from '../report';

/** Reads some of the fixtures' files and says how each came out. */
export interface Item {
  name: string;
  /** Whether it reads this file. */
  owns(path: string): boolean;
  /** `paths`: those of its files that are there. A line for each. */
  run(ctx: Context, paths: string[]): Promise<Line[]>;
}

/** Versions only: "trl==1.16.0 trl.trainer.dpo_trainer..." -> "trl==1.16.0". */
export const shortSource = (source: unknown): string | undefined =>
  typeof source === 'string'
    ? (source
        .match(/[\w.-]+==[\w.+-]*\w|torch \d[\w.+]*/g)
        ?.slice(0, 3)
        .join(', ') ?? source.slice(0, 60))
    : undefined;

export function lineOf(path: string, source: unknown, comparer: Comparer, tolerance?: string): Line {
  const { failures, maxError } = comparer.result;
  return {
    path,
    status: failures.length > 0 ? 'fail' : 'pass',
    source: shortSource(source),
    maxError,
    tolerance:
      tolerance ??
      (comparer.atol === 0
        ? 'exact'
        : `${comparer.atol}${comparer.rtol > 0 ? ` + ${comparer.rtol} relative` : ''}`),
    ...(failures.length > 0 && {
      detail:
        failures.slice(0, 3).join('; ') + (failures.length > 3 ? ` and ${failures.length - 3} more` : ''),
    }),
  };
}

/** Runs `body` for files that stand or fall together; what it throws becomes their result. */
export async function together(paths: string[], body: () => Promise<Line[]>): Promise<Line[]> {
  try {
    return await body();
  } catch (error) {
    const missing = error instanceof MissingFile;
    return paths.map((path) => ({
      path,
      status: missing ? 'absent' : 'fail',
      detail: missing ? `needs ${error.message}, which is not there` : (error as Error).message,
    }));
  }
}

/** Paths by the folder of so many parts that they lie in. */
export function byFolder(paths: string[], parts: number): Map<string, string[]> {
  const folders = new Map<string, string[]>();
  for (const path of paths) {
    const folder = path.split('/').slice(0, parts).join('/');
    folders.set(folder, [...(folders.get(folder) ?? []), path]);
  }
  return folders;
}
