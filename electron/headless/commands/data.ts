import { resolve } from 'node:path';
import { AtelierError } from '../../../shared/rpc';
import { PROGRAM, needed, readArguments, refuseMore, type Command } from '../command';
import { openLocal } from '../local';
import { bytes, table } from '../table';

export const dataCommand: Command = {
  usage: 'data [add FILE [--name N] | remove ID] [--json]',
  help: 'lists data sets, adds a JSONL file, forgets one',
  async run(args) {
    const { values, positionals, home, device } = readArguments(args, {
      name: { type: 'string' },
      json: { type: 'boolean' },
    });
    refuseMore(positionals, 2, dataCommand.usage);
    const [verb = 'list', target] = positionals;
    const local = await openLocal({ home, device });
    try {
      const { datasets } = local.client;
      if (verb === 'add') {
        const path = resolve(needed(target, 'FILE', dataCommand.usage));
        const data = await datasets.add({
          path,
          ...(values.name === undefined ? {} : { name: values.name }),
        });
        const faults = data.problems.count > 0 ? `, ${data.problems.count} lines cannot be used` : '';
        process.stdout.write(
          values.json
            ? `${JSON.stringify(data)}\n`
            : `${data.id}: ${data.rows} rows, ${data.type}${faults}\n`,
        );
        return 0;
      }
      if (verb === 'remove') {
        await datasets.remove({ id: needed(target, 'ID', dataCommand.usage) });
        return 0;
      }
      if (verb !== 'list')
        throw new AtelierError('invalid_input', `"${verb}" is not known.`, `${PROGRAM} ${dataCommand.usage}`);
      const all = await datasets.list({});
      process.stdout.write(
        values.json
          ? `${JSON.stringify(all)}\n`
          : table(
              ['id', 'state', 'rows', 'type', 'size', 'path'],
              all.map((d) => [d.id, d.state, String(d.rows), d.type, bytes(d.bytes), d.path]),
            ),
      );
      return 0;
    } finally {
      await local.close();
    }
  },
};
