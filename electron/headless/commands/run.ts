import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { RunConfig } from '../../../shared/contract/runs';
import { AtelierError, parseInput } from '../../../shared/rpc';
import { needed, readArguments, readPort, type Command } from '../command';
import { openLocal } from '../local';
import { showRun } from '../terminal-run';

export const runCommand: Command = {
  usage: 'run CONFIG.yaml [--port N]',
  help: 'trains a run and shows it here and in a browser',
  async run(args) {
    const { values, positionals, home, device } = readArguments(args, { port: { type: 'string' } });
    const config = await readConfig(needed(positionals[0], 'CONFIG.yaml', runCommand.usage));
    const local = await openLocal({ home, device, port: readPort(values.port, 0) });
    const stop = () => void local.close().then(() => process.exit(130));
    process.once('SIGINT', stop);
    try {
      const { id, queued } = await local.client.runs.start(config);
      process.stdout.write(`Watch it at ${local.address}\n`);
      if (queued) process.stdout.write('Another run goes first.\n');
      const result = await showRun(local.client, id);
      const { folder } = await local.client.runs.get({ id });
      process.stdout.write(`${result.status}: ${folder}\n`);
      return result.status === 'completed' ? 0 : 1;
    } finally {
      process.removeListener('SIGINT', stop);
      await local.close();
    }
  },
};

/** @throws AtelierError that names file and field */
export async function readConfig(file: string): Promise<RunConfig> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new AtelierError('not_found', `${file} cannot be read: ${(error as Error).message}`);
  }
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw new AtelierError('invalid_input', `${file} is not YAML: ${(error as Error).message}`);
  }
  try {
    return parseInput(RunConfig, value);
  } catch (error) {
    throw new AtelierError('invalid_input', `${file}: ${(error as Error).message}`);
  }
}
