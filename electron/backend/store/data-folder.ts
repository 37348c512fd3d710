import { accessSync, constants, mkdirSync } from 'node:fs';
import { AtelierError } from '../../../shared/rpc';

/** Makes the data folder where it is not there yet, for its owner alone. @throws AtelierError io */
export function makeDataFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new AtelierError(
      'io',
      `The data folder ${folder} cannot be written: ${(error as Error).message}.`,
      'Choose another with --home DIR or ATELIER_HOME.',
    );
  }
}
