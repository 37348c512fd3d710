import type { Context } from '../context';
import type { Line } from '../report';
import { shortSource, type Item } from './item';
import { nativeTest } from './native';

const PARTS = [
  { part: 'lines', test: 'rows are packed as trl packs them', tolerance: 'exact' },
  {
    part: 'log-probabilities',
    test: "packed rows get transformers' log-probabilities of each row alone",
    tolerance: '0.0001 + 0.0001 relative',
  },
];

async function runPart(
  ctx: Context,
  path: string,
  { part, test, tolerance }: (typeof PARTS)[0],
): Promise<Line> {
  const { failures, excess } = await nativeTest(ctx, test);
  return {
    path,
    part,
    status: failures.length > 0 ? 'fail' : 'pass',
    source: shortSource(ctx.json(path).source),
    maxError: tolerance === 'exact' ? 0 : excess * 1e-4,
    tolerance,
    ...(failures.length > 0 && { detail: failures.join('; ') }),
  };
}

export const packing: Item = {
  name: 'packing',
  owns: (path) => path === 'losses/sft_packing.json',
  async run(ctx, paths) {
    const lines: Line[] = [];
    for (const path of paths) for (const part of PARTS) lines.push(await runPart(ctx, path, part));
    return lines;
  },
};
