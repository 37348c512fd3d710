// npm run bench -- NAME [options]: measures, prints, and fails where a bound is missed. One file a bench.
import { benchCost } from './cost';
import { benchDemo } from './demo';
import { benchEngine } from './engine';

const benches: Record<string, (args: string[]) => Promise<number>> = {
  cost: benchCost,
  demo: benchDemo,
  engine: benchEngine,
};

const [name = '', ...rest] = process.argv.slice(2);
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined;
if (!bench) {
  process.stderr.write(`bench: "${name}" is none of ${Object.keys(benches).join(', ')}.\n`);
  process.exit(2);
}
process.exit(await bench(rest));
