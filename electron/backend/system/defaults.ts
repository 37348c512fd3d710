import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Device } from '../../../native/face';
import { AtelierError } from '../../../shared/rpc';

/** The data folder: ATELIER_HOME, or the platform's place for an application's data. */
export function dataFolder(env: NodeJS.ProcessEnv = process.env): string {
  if (env['ATELIER_HOME']) return resolve(env['ATELIER_HOME']);
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'Atelier');
  if (process.platform === 'win32') return join(env['LOCALAPPDATA'] ?? homedir(), 'Atelier');
  return join(env['XDG_DATA_HOME'] ?? join(homedir(), '.local', 'share'), 'atelier');
}

/** The device that is named, or the platform's usual one; never another than what was asked for. */
export function chooseDevice(named: string | undefined): Device {
  if (named === undefined || named === '') return process.platform === 'darwin' ? 'metal' : 'cpu';
  if (named === 'cpu' || named === 'cuda' || named === 'metal') return named;
  throw new AtelierError('invalid_input', `There is no device "${named}".`, 'Choose cpu, cuda or metal.');
}
