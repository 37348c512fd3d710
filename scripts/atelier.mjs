// Every npm script comes through here: `node scripts/atelier.mjs <task> [--device D] [args]`. It does the set-up
// the task needs, then the task. Plain JavaScript without dependencies: node_modules may not be there yet.
import { parseArguments } from './setup/arguments.mjs';
import { elapsed, say, SetupError } from './setup/log.mjs';
import { setUp } from './setup/set-up.mjs';
import { tasks } from './tasks.mjs';

try {
  const { name, device, rest } = parseArguments(process.argv.slice(2), Object.keys(tasks));
  const task = tasks[name];
  await setUp(device, task.needs);
  if (task.needs.length > 0) say(`set-up ready after ${elapsed()}`);
  process.exitCode = await task.run({ device, rest });
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`\n${error.message}\n`);
  process.exitCode = 1;
}
