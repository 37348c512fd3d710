import { resolve } from 'node:path';
import { needed, readArguments, readNumber, refuseMore, runId, type Command } from '../command';
import { openLocal } from '../local';

export const exportCommand: Command = {
  usage: 'export RUN [--checkpoint STEP] [--to DIR]',
  help: 'writes an adapter for PEFT and checks it in a fresh process',
  async run(args) {
    const { values, positionals, home, device } = readArguments(args, {
      checkpoint: { type: 'string' },
      to: { type: 'string' },
    });
    refuseMore(positionals, 1, exportCommand.usage);
    const id = runId(needed(positionals[0], 'RUN', exportCommand.usage));
    const local = await openLocal({ home, device });
    try {
      for await (const item of local.client.runs.export({
        id,
        ...(values.checkpoint === undefined
          ? {}
          : { checkpoint: readNumber('--checkpoint', values.checkpoint) }),
        ...(values.to === undefined ? {} : { path: resolve(values.to) }),
      })) {
        if (item.kind === 'progress') continue;
        process.stdout.write(`${item.path}\n`);
        for (const { name, bytes } of item.files) process.stdout.write(`  ${name}  ${bytes} bytes\n`);
        process.stdout.write(
          `${item.verified ? 'verified' : 'NOT VERIFIED'}: reloaded, its logits differ from the policy's by at most ` +
            `${item.maxDifferenceLive}, from the base model's by ${item.maxDifferenceBase}\n`,
        );
        if (item.message) process.stdout.write(`${item.message}\n`);
        return item.verified ? 0 : 1;
      }
      return 1;
    } finally {
      await local.close();
    }
  },
};
