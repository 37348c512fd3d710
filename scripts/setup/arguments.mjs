import { defaultDevice, devices } from './paths.mjs';
import { SetupError } from './log.mjs';

/**
 * Splits a command line into the task's name, the device, and what is the task's own.
 * @param {string[]} argv @param {string[]} names the tasks there are
 */
export function parseArguments(argv, names) {
  const [name, ...rest] = argv;
  if (!names.includes(name))
    throw new SetupError(name ? `There is no task "${name}".` : 'Which task?', `One of: ${names.join(', ')}`);
  let device = defaultDevice();
  const own = [];
  for (let i = 0; i < rest.length; i++) {
    const match = /^--device(?:=(.*))?$/.exec(rest[i]);
    if (!match) {
      own.push(rest[i]);
      continue;
    }
    device = match[1] ?? rest[++i];
    if (!devices.includes(device))
      throw new SetupError(`--device ${device ?? ''}: not a device.`, `One of: ${devices.join(', ')}`);
  }
  return { name, device, rest: own };
}
