import type { Context } from '../context';
import { Comparer } from '../losses/compare';
import type { Line } from '../report';
import { schedules } from '../schedules';
import { lineOf, shortSource, together, type Item } from './item';
import { nativeTest } from './native';

const ADAMW = "AdamW and Adam equal torch's, with clipping and schedules";
const SGD = "SGD with momentum equals torch's";

/** Cases of other_optimisers.json: the native test of each, and its tolerance. */
const OTHERS: Record<string, { test: string; atol: number; note?: string }> = {
  adafactor: { test: "Adafactor equals torch's", atol: 1e-6 },
  muon: { test: "Muon equals torch's", atol: 2e-2, note: ' (torch orthogonalises in bf16)' },
};

async function others(ctx: Context, path: string): Promise<Line[]> {
  const fixture = ctx.json(path);
  const lines: Line[] = [];
  for (const part of Object.keys(fixture.cases)) {
    const { test, atol, note } = OTHERS[part];
    const { failures, excess } = await nativeTest(ctx, test);
    lines.push({
      path,
      part,
      status: failures.length > 0 ? 'fail' : 'pass',
      source: shortSource(fixture.source),
      maxError: excess * atol,
      tolerance: `${atol}${note ?? ''}`,
      ...(failures.length > 0 && { detail: failures.join('; ') }),
    });
  }
  return lines;
}

export const optim: Item = {
  name: 'optim',
  owns: (path) =>
    ['optim/adamw.json', 'optim/lr_schedules.json', 'optim/other_optimisers.json'].includes(path),
  async run(ctx, paths) {
    const lines: Line[] = [];
    for (const path of paths) {
      const made = await together([path], async () => {
        if (path.endsWith('other_optimisers.json')) return others(ctx, path);
        const fixture = ctx.json(path);
        if (path.endsWith('lr_schedules.json')) {
          const comparer = new Comparer(1e-6, 0);
          for (const c of schedules(fixture)) comparer.numbers(c.name, c.actual, c.expected);
          return [lineOf(path, fixture.source, comparer)];
        }
        const { failures, excess } = await nativeTest(ctx, ADAMW);
        const { failures: sgd } = await nativeTest(ctx, SGD);
        return [
          {
            path,
            status: failures.length + sgd.length > 0 ? 'fail' : 'pass',
            source: shortSource(fixture.source),
            maxError: excess * 1e-6,
            tolerance: '1e-6',
            ...(failures.length + sgd.length > 0 && { detail: [...failures, ...sgd].join('; ') }),
          },
        ] as Line[];
      });
      lines.push(...made);
    }
    return lines;
  },
};
