import { parseArgs, type ParseArgsConfig } from 'node:util';
import { Id } from '../../shared/contract/common';
import { AtelierError } from '../../shared/rpc';
import { chooseDevice, dataFolder } from '../backend/system';

/** How a person calls a command here: hints can be copied as they stand. */
export const PROGRAM = 'npm run atelier --';

export interface Command {
  usage: string;
  help: string;
  /** The process's exit code. */
  run(args: string[]): Promise<number>;
}

const shared = {
  home: { type: 'string' },
  device: { type: 'string' },
  devices: { type: 'string' },
} as const;
type Options = NonNullable<ParseArgsConfig['options']>;

/** A command's arguments, with those that every command has. @throws ERR_PARSE_ARGS_... */
export function readArguments<O extends Options>(args: string[], options: O) {
  const { values, positionals } = parseArgs({
    args,
    options: { ...options, ...shared },
    allowPositionals: true,
    strict: true,
  });
  const common = values as { home?: string; device?: string; devices?: string };
  return {
    values,
    positionals,
    home: common.home ?? dataFolder(),
    device: chooseDevice(common.device ?? process.env['ATELIER_DEVICE']),
    devices: readDevices(common.devices ?? process.env['ATELIER_DEVICES']),
  };
}

/** "0,1"; undefined where none is named. Whether they are there, the backend says. @throws AtelierError invalid_input */
export function readDevices(text: string | undefined): number[] | undefined {
  if (text === undefined) return undefined;
  const parts = text.split(',').map((part) => part.trim());
  if (parts.every((part) => /^\d{1,4}$/.test(part))) return parts.map(Number);
  throw new AtelierError(
    'invalid_input',
    `--devices: "${text}" is not a list of numbers.`,
    'Name GPUs by their numbers: --devices 0,1',
  );
}

export function readPort(text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port;
  throw new AtelierError(
    'invalid_input',
    `"${text}" is not a port.`,
    'Choose a number from 0 (any free one) to 65535.',
  );
}

/** A number given as an option. @throws AtelierError invalid_input that names the option */
export function readNumber(option: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value)) return value;
  throw new AtelierError('invalid_input', `${option}: "${text}" is not a number.`);
}

/** Arguments beyond those that a command takes would be lost without a word. @throws AtelierError invalid_input */
export function refuseMore(positionals: string[], most: number, usage: string, program = PROGRAM): void {
  const extra = positionals[most];
  if (extra === undefined) return;
  throw new AtelierError('invalid_input', `"${extra}" is one argument too many.`, `${program} ${usage}`);
}

/** @throws AtelierError invalid_input with the usage */
export function needed(value: string | undefined, what: string, usage: string): string {
  if (value !== undefined && value !== '') return value;
  throw new AtelierError('invalid_input', `${what} is missing.`, `${PROGRAM} ${usage}`);
}

/** An argument that names a run; the backend tells whether it is there. @throws AtelierError not_found */
export function runId(text: string): string {
  if (Id.safeParse(text).success) return text;
  throw new AtelierError('not_found', `There is no run "${text}".`, `"${PROGRAM} runs" lists them.`);
}
