import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Context } from '../context';

export interface NativeResult {
  failures: string[];
  /** Largest error as a share of what is allowed; NaN where the test compares exactly. */
  excess: number;
}

const done = new Map<string, Promise<NativeResult>>();

/**
 * A test case of native/src by its name, on this folder of fixtures: for what has no place in the engine's
 * face (hidden states, an optimiser on given gradients, filters on given logits, dequantised tensors).
 */
export function nativeTest(ctx: Context, name: string): Promise<NativeResult> {
  const known = done.get(name);
  if (known) return known;
  const result = run(ctx, name);
  done.set(name, result);
  return result;
}

async function run(ctx: Context, name: string): Promise<NativeResult> {
  const program = fileURLToPath(new URL(`../../build/${ctx.device}/native-tests`, import.meta.url));
  if (!existsSync(program)) return { failures: [`${program} is not built: npm run setup`], excess: NaN };
  // A comma separates names on doctest's command line.
  const filter = `--test-case=${name.replaceAll(',', '\\,')}`;
  const output = await new Promise<string>((resolve) => {
    execFile(
      program,
      [filter, '--no-colors'],
      { env: { ...process.env, ATELIER_FIXTURES: ctx.root, ATELIER_REPORT: '1' }, maxBuffer: 1e8 },
      (error, stdout, stderr) => resolve(error ? `${stdout}${stderr}\nexit ${error.code}` : stdout),
    );
  });
  const ran = /test cases:\s+1 \|\s+1 passed/.test(output);
  const excess = Number(/largest share of a tolerance: (\S+)/.exec(output)?.[1] ?? NaN);
  if (ran) return { failures: [], excess };
  const why = output.split('\n').filter((l) => /ERROR|exception|exit|test cases/.test(l));
  return { failures: [`native test "${name}": ${why.slice(0, 3).join(' | ') || 'did not run'}`], excess };
}
