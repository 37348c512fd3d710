import { readFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import type { Device } from '../../../native/face';
import type { AtelierContract } from '../../../shared/contract';
import { RunConfig, upgradeConfig, withFit } from '../../../shared/contract/runs';
import { AtelierError, parseInput, type Client } from '../../../shared/rpc';
import { chooseDevice, dataFolder } from '../../backend/system';
import { needed, PROGRAM, readArguments, readPort, refuseMore, runId, type Command } from '../command';
import { openLocal, work } from '../local';
import { showRun } from '../terminal-run';
import { sayFit } from '../say-fit';

export const runCommand: Command = {
  usage: 'run CONFIG.yaml [--auto] | --resume RUN [--port N]',
  help: 'trains a run, or goes on with one; --auto fits it to memory first',
  async run(args) {
    const { values, positionals, home, device, devices } = readArguments(args, {
      port: { type: 'string' },
      resume: { type: 'string' },
      auto: { type: 'boolean' },
    });
    const begin = await chooseRun(positionals, values.resume && runId(values.resume), values.auto === true);
    const local = await openLocal({ home, device, devices, port: readPort(values.port, 0) });
    let resume = '';
    const follow = async () => {
      const { id, queued, after } = await begin(local.client);
      resume = resumeCommand(id, home, device, devices);
      process.stdout.write(`Watch it at ${local.address}\n`);
      if (queued) process.stdout.write('Another run goes first.\n');
      const result = await showRun(local.client, id, { resume, after });
      const { folder } = await local.client.runs.get({ id });
      process.stdout.write(`${result.status}: ${folder}\n`);
      if (result.status === 'completed') return 0;
      const waits = result.status === 'paused' ? `The run waits for a decision: ${result.message}\n` : '';
      process.stderr.write(`${waits}Go on with: ${resume}\n`);
      return 1;
    };
    return work(local, follow, () => (resume === '' ? '' : `\nGo on with: ${resume}\n`));
  },
};

type Begin = (
  client: Client<AtelierContract>,
) => Promise<{ id: string; queued: boolean; /** Newest `seq` that is old news. */ after: number }>;

/** What the arguments ask for; a configuration is read before anything is opened. */
async function chooseRun(positionals: string[], resume: string | undefined, auto: boolean): Promise<Begin> {
  if (resume === undefined) {
    refuseMore(positionals, 1, runCommand.usage);
    const config = await readConfig(needed(positionals[0], 'CONFIG.yaml', runCommand.usage));
    return async (client) => {
      const fitted = auto ? await fitToMemory(client, config) : config;
      return { ...(await client.runs.start(fitted).catch(advise)), after: 0 };
    };
  }
  const other = positionals[0] ?? (auto ? '--auto' : undefined);
  if (other !== undefined) {
    throw new AtelierError(
      'invalid_input',
      `${other} and --resume ${resume}: a run goes on with its own configuration.`,
      `${PROGRAM} ${runCommand.usage}`,
    );
  }
  return async (client) => {
    let after = 0;
    for await (const item of client.runs.follow({ id: resume })) {
      if ('seq' in item) after = item.seq;
      if (item.kind === 'live') break;
    }
    await client.runs.resume({ id: resume });
    return { id: resume, queued: (await client.runs.get({ id: resume })).queue !== null, after };
  };
}

/** Divided so that it fits into memory, which it says. */
async function fitToMemory(client: Client<AtelierContract>, config: RunConfig): Promise<RunConfig> {
  const chosen = await client.runs.fit(config).catch(advise);
  sayFit(chosen);
  return withFit(config, chosen.fit);
}

export function resumeCommand(id: string, home: string, device: Device, devices?: readonly number[]): string {
  const several = devices ? ` --devices ${devices.join(',')}` : '';
  const where = (device === chooseDevice(undefined) ? '' : ` --device ${device}`) + several;
  const place = home === dataFolder() ? '' : ` --home ${/\s/.test(home) ? JSON.stringify(home) : home}`;
  return `${PROGRAM} run --resume ${id}${where}${place}`;
}

const WAYS: Record<string, string> = {
  model: `"${PROGRAM} models" lists models, "${PROGRAM} models add PATH" adds one.`,
  data: `"${PROGRAM} data" lists data sets, "${PROGRAM} data add FILE" adds one.`,
  rewards: 'Rewards of the app go by their id; { code: ... } holds one of its own.',
};
const EXAMPLE =
  'New run in the app shows a whole configuration as YAML; the folder of each run has its own, config.yaml.';

/** Adds what a person at a terminal can do, where the error does not say it. */
function advise(error: unknown): never {
  if (!(error instanceof AtelierError)) throw error;
  const field = String(error.details?.['path'] ?? '').split('.')[0]!;
  throw new AtelierError(error.code, error.message, error.hint ?? WAYS[field], error.details);
}

/** @throws AtelierError that names file and field */
export async function readConfig(file: string): Promise<RunConfig> {
  const value = await withAlgorithm(await readYaml(file), file);
  try {
    return parseInput(RunConfig, upgradeConfig(value));
  } catch (error) {
    const { message, hint, details } = error as AtelierError;
    const named = new AtelierError('invalid_input', `${file}: ${message}`, hint, details);
    return advise(named);
  }
}

/** `algorithm: ./mine.ts`, from where the configuration lies: the file's code goes along with the run. */
async function withAlgorithm(value: object, config: string): Promise<object> {
  const { algorithm } = value as { algorithm?: unknown };
  if (typeof algorithm !== 'string' || !algorithm.endsWith('.ts')) return value;
  const file = resolve(dirname(config), algorithm);
  const slug = basename(file, '.ts')
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[-_]+/, '');
  try {
    return { ...value, algorithm: slug === '' ? 'own' : slug, algorithmCode: await readFile(file, 'utf8') };
  } catch (error) {
    const why = (error as Error).message;
    throw new AtelierError('invalid_input', `${config}: algorithm: ${file} cannot be read: ${why}.`);
  }
}

async function readYaml(file: string): Promise<object> {
  const fault = (what: string) => new AtelierError('invalid_input', `${file} ${what}.`, EXAMPLE);
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new AtelierError('not_found', `There is no file ${file}.`, EXAMPLE);
    if (code === 'EISDIR') throw fault('is a folder, not a configuration');
    throw new AtelierError('io', `${file} cannot be read: ${message}.`);
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw fault('is not text in UTF-8');
  }
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw new AtelierError('invalid_input', `${file} is not YAML: ${(error as Error).message.trim()}`);
  }
  if (value === null) throw fault('is empty');
  if (typeof value !== 'object' || Array.isArray(value))
    throw fault('is not a configuration: it has no fields');
  return value;
}
