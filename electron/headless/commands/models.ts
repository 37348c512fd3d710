import { resolve } from 'node:path';
import { AtelierError } from '../../../shared/rpc';
import { PROGRAM, needed, readArguments, refuseMore, type Command } from '../command';
import { openLocal } from '../local';
import { bytes, table } from '../table';

export const modelsCommand: Command = {
  usage: 'models [add PATH [--name N] | remove ID] [--json]',
  help: 'lists models, adds a folder or a GGUF file, forgets one',
  async run(args) {
    const { values, positionals, home, device, devices } = readArguments(args, {
      name: { type: 'string' },
      json: { type: 'boolean' },
    });
    refuseMore(positionals, 2, modelsCommand.usage);
    const [verb = 'list', target] = positionals;
    const local = await openLocal({ home, device, devices });
    try {
      const { models } = local.client;
      if (verb === 'add') {
        const path = resolve(needed(target, 'PATH', modelsCommand.usage));
        const model = await models.add({ path, ...(values.name === undefined ? {} : { name: values.name }) });
        process.stdout.write(
          values.json
            ? `${JSON.stringify(model)}\n`
            : `${model.id}: ${model.name}, ${model.scalarHead ? 'a reward model, ' : ''}${model.state}${model.reason ? ` (${model.reason})` : ''}\n`,
        );
        if (model.state === 'ready' && !model.hasChatTemplate && !values.json)
          process.stdout.write(
            'It has no chat template: messages are joined as plain text, without their roles.\n',
          );
        return 0;
      }
      if (verb === 'remove') {
        await models.remove({ id: needed(target, 'ID', modelsCommand.usage) });
        return 0;
      }
      if (verb !== 'list')
        throw new AtelierError(
          'invalid_input',
          `"${verb}" is not known.`,
          `${PROGRAM} ${modelsCommand.usage}`,
        );
      const all = await models.list({});
      process.stdout.write(
        values.json
          ? `${JSON.stringify(all)}\n`
          : table(
              ['id', 'state', 'family', 'made for', 'parameters', 'size', 'path'],
              all.map((m) => [
                m.id,
                m.state,
                m.family ?? '',
                m.scalarHead ? 'scores' : 'text',
                m.parameters?.toLocaleString('en') ?? '',
                m.bytes === null ? '' : bytes(m.bytes),
                m.path,
              ]),
            ),
      );
      return 0;
    } finally {
      await local.close();
    }
  },
};
