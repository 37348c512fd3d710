import { readArguments, refuseMore, type Command } from '../command';
import { openLocal } from '../local';
import { table } from '../table';

export const runsCommand: Command = {
  usage: 'runs [--json]',
  help: 'lists runs, newest first',
  async run(args) {
    const { values, positionals, home, device, devices } = readArguments(args, { json: { type: 'boolean' } });
    refuseMore(positionals, 0, runsCommand.usage);
    const local = await openLocal({ home, device, devices });
    try {
      const all = await local.client.runs.list({});
      process.stdout.write(
        values.json
          ? `${JSON.stringify(all)}\n`
          : table(
              ['id', 'status', 'step', 'algorithm', 'model', 'name'],
              all.map((run) => [
                run.id,
                run.status,
                `${run.step}/${run.steps}`,
                run.algorithm,
                run.modelName,
                run.name,
              ]),
            ),
      );
      return 0;
    } finally {
      await local.close();
    }
  },
};
