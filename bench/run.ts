// npm run bench -- NAME [options]: measures, prints, and fails where a bound is missed. One file a bench.
import process from 'node:process';

type Bench = (args: string[]) => Promise<number>;
/** Each loaded when it is wanted: on a bare GPU machine not all that others need is there. */
const benches: Record<string, () => Promise<Bench>> = {
  cost: async () => (await import('./cost')).benchCost,
  demo: async () => (await import('./demo')).benchDemo,
  devices: async () => (await import('./devices')).benchDevices,
  engine: async () => (await import('./engine')).benchEngine,
  memory: async () => (await import('./memory/main')).benchMemory,
};

const [name = '', ...rest] = process.argv.slice(2);
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined;
if (!bench) {
  process.stderr.write(`bench: "${name}" is none of ${Object.keys(benches).join(', ')}.\n`);
  process.exit(2);
}
process.exit(await (await bench())(rest));
