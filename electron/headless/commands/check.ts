import { readArguments, refuseMore, type Command } from '../command';
import { openLocal } from '../local';
import { table } from '../table';

export const checkCommand: Command = {
  usage: 'check [--json]',
  help: 'what is here, what is missing, and how to mend it',
  async run(args) {
    const { values, positionals, home, device, devices } = readArguments(args, { json: { type: 'boolean' } });
    refuseMore(positionals, 0, checkCommand.usage);
    const local = await openLocal({ home, device, devices });
    try {
      const info = await local.client.system.info({});
      const checks = await local.client.system.checks({});
      const failed = checks.some((check) => check.state === 'failed');
      if (values.json) process.stdout.write(`${JSON.stringify({ ...info, checks }, null, 2)}\n`);
      else {
        process.stdout.write(
          `Atelier ${info.version} (${info.commit.slice(0, 7)}), MLX ${info.mlx}, ${info.platform}\n\n`,
        );
        process.stdout.write(
          table(
            ['device', '', 'memory'],
            info.devices.flatMap(({ device: name, units, ...d }) =>
              units.length > 1
                ? units.map((unit, k) => [`${name} ${k}`, unit.description, inGB(unit.memoryBytes)])
                : [[name, d.description, d.available ? inGB(d.memoryBytes) : '']],
            ),
          ),
        );
        process.stdout.write('\n');
        process.stdout.write(
          table(
            ['', 'check', ''],
            checks.map((c) => [c.state, c.label, c.fix ? `${c.detail} → ${c.fix}` : c.detail]),
          ),
        );
      }
      return failed ? 1 : 0;
    } finally {
      await local.close();
    }
  },
};

const inGB = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
