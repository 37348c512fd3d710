import { resolve } from 'node:path';
import { needed, readArguments, refuseMore, runId, type Command } from '../command';
import { openLocal } from '../local';

export const traceCommand: Command = {
  usage: 'trace RUN [--out FILE]',
  help: 'writes where the time of each step went, for Perfetto or chrome://tracing',
  async run(args) {
    const { values, positionals, home, device } = readArguments(args, { out: { type: 'string' } });
    refuseMore(positionals, 1, traceCommand.usage);
    const id = runId(needed(positionals[0], 'RUN', traceCommand.usage));
    const local = await openLocal({ home, device });
    try {
      const { path, bytes, steps } = await local.client.runs.trace({
        id,
        ...(values.out === undefined ? {} : { path: resolve(values.out) }),
      });
      process.stdout.write(`${path}\n  ${steps} ${steps === 1 ? 'timeline' : 'timelines'}, ${bytes} bytes\n`);
      return 0;
    } finally {
      await local.close();
    }
  },
};
