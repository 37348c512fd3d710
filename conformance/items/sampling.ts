import type { Line } from '../report';
import { shortSource, together, type Item } from './item';
import { nativeTest } from './native';

const FILTERS = 'temperature, top-k, top-p and min-p filter as transformers does';
const OURS = ['temperature', 'top_k', 'top_p', 'min_p'];

export const sampling: Item = {
  name: 'sampling',
  owns: (path) => path === 'sampling/processors.json',
  run: (ctx, paths) =>
    together(paths, async () => {
      const [path] = paths;
      const fixture = ctx.json(path);
      const { failures, excess } = await nativeTest(ctx, FILTERS);
      const other = fixture.cases
        .flatMap((c: { config: object }) => Object.keys(c.config))
        .filter((key: string) => !OURS.includes(key));
      const waiting = [...new Set<string>(other), ...(fixture.penalties_vllm ? ['penalties_vllm'] : [])];
      return [
        {
          path,
          status: failures.length > 0 ? 'fail' : 'pass',
          source: shortSource(fixture.source),
          maxError: excess * 1e-5,
          tolerance: '1e-5; zeros and greedy ids exact',
          ...(failures.length > 0 && { detail: failures.join('; ') }),
        },
        { path, part: waiting.join(', '), status: 'not built', detail: 'not among the samplers: issue 2' },
      ] as Line[];
    }),
};
