import { Comparer } from '../losses/compare';
import type { Line } from '../report';
import { schedules } from '../schedules';
import { lineOf, shortSource, together, type Item } from './item';
import { nativeTest } from './native';

const ADAMW = "AdamW equals torch's, with clipping and schedules";

export const optim: Item = {
  name: 'optim',
  owns: (path) => ['optim/adamw.json', 'optim/lr_schedules.json'].includes(path),
  async run(ctx, paths) {
    const lines: Line[] = [];
    for (const path of paths) {
      const made = await together([path], async () => {
        const fixture = ctx.json(path);
        if (path.endsWith('lr_schedules.json')) {
          const comparer = new Comparer(1e-6, 0);
          for (const c of schedules(fixture)) comparer.numbers(c.name, c.actual, c.expected);
          return [lineOf(path, fixture.source, comparer)];
        }
        const { failures, excess } = await nativeTest(ctx, ADAMW);
        const others = fixture.cases.filter((c: { config: object }) => 'optimizer' in c.config);
        return [
          {
            path,
            status: failures.length > 0 ? 'fail' : 'pass',
            source: shortSource(fixture.source),
            maxError: excess * 1e-6,
            tolerance: '1e-6',
            ...(failures.length > 0 && { detail: failures.join('; ') }),
          },
          ...others.map((c: { name: string }) => ({
            path,
            part: c.name,
            status: 'not built',
            detail: 'no optimiser of the product: issue 2',
          })),
        ] as Line[];
      });
      lines.push(...made);
    }
    return lines;
  },
};
