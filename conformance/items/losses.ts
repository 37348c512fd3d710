import type { Evaluation } from '../../shared/program';
import type { Context } from '../context';
import { compareFile, reference, type Evaluator } from '../losses/compare';
import { LOSS_FILES } from '../losses';
import type { Line } from '../report';
import { shortSource, together, type Item } from './item';

/** The engine's evaluator, in f32. */
const native =
  (ctx: Context): Evaluator =>
  async (program, given): Promise<Evaluation> => {
    const floats = Object.entries(given.inputs).map(([name, v]) => [name, Float32Array.from(v)]);
    const { loss, metrics, gradients } = await ctx.engine.evaluateProgram({
      program: JSON.stringify(program),
      inputs: Object.fromEntries(floats),
      targets: Int32Array.from(given.targets),
      ...(given.trajectories && { trajectories: Int32Array.from(given.trajectories) }),
      ...(given.groups && { groups: Int32Array.from(given.groups) }),
      gradients: given.gradients ?? [],
    });
    return {
      loss,
      metrics,
      gradients: Object.fromEntries(Object.entries(gradients).map(([k, g]) => [k, Float64Array.from(g)])),
    };
  };

async function runFile(ctx: Context, path: string): Promise<Line[]> {
  const name = path.slice('losses/'.length);
  const fixture = ctx.json(path);
  const file = LOSS_FILES[name](fixture);
  const lines: Line[] = [];
  const part = (which: string) =>
    file.waiting.length > 0 && file.programs.length + file.plain.length === 0 ? {} : { part: which };
  if (file.programs.length + file.plain.length > 0) {
    // Values have 9 digits, f64; 1e-5 is the README's bound for f32.
    const typescript = await compareFile(file, reference, 1e-6);
    const cpp = await compareFile({ ...file, plain: [] }, native(ctx), 1e-5);
    const failures = [
      ...typescript.failures.map((f) => `TypeScript: ${f}`),
      ...cpp.failures.map((f) => `C++: ${f}`),
    ];
    const native32 = file.programs.length > 0 ? `, C++ ${cpp.maxError.toExponential(1)} (1e-5)` : '';
    lines.push({
      path,
      status: failures.length > 0 ? 'fail' : 'pass',
      source: shortSource(fixture.source),
      maxError: typescript.maxError,
      tolerance: `1e-6 + 1e-6 relative in TypeScript${native32}`,
      ...(failures.length > 0 && { detail: failures.slice(0, 3).join('; ') }),
    });
  }
  for (const w of file.waiting)
    lines.push({ path, ...part(w.part), status: 'not built', detail: `waits for ${w.quantity}: issue 2` });
  return lines;
}

export const losses: Item = {
  name: 'losses',
  owns: (path) => path.startsWith('losses/') && Object.hasOwn(LOSS_FILES, path.slice('losses/'.length)),
  async run(ctx, paths) {
    const lines: Line[] = [];
    for (const path of paths) lines.push(...(await together([path], () => runFile(ctx, path))));
    return lines;
  },
};
