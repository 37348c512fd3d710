import type { Line } from '../report';
import { shortSource, together, type Item } from './item';
import { nativeTest } from './native';

const PROCESSORS = 'penalties, bias and filters change a distribution as transformers does';
const PENALTIES = 'presence, frequency and repetition change logits as vLLM does';

export const sampling: Item = {
  name: 'sampling',
  owns: (path) => path === 'sampling/processors.json',
  run: (ctx, paths) =>
    together(paths, async () => {
      const [path] = paths;
      const { source, penalties_vllm } = ctx.json(path);
      const line = async (test: string, from: string, part?: string): Promise<Line> => {
        const { failures, excess } = await nativeTest(ctx, test);
        return {
          path,
          ...(part !== undefined && { part }),
          status: failures.length > 0 ? 'fail' : 'pass',
          source: shortSource(from),
          maxError: excess * 1e-5,
          tolerance: '1e-5; zeros and greedy ids exact',
          ...(failures.length > 0 && { detail: failures.join('; ') }),
        };
      };
      return [await line(PROCESSORS, source), await line(PENALTIES, penalties_vllm.source, 'penalties_vllm')];
    }),
};
