import { AtelierError } from '../../../shared/rpc';
import { isLocked } from '../../backend/store';
import { leaveCode, notedPort } from '../../backend/transport';
import { PROGRAM, readArguments, refuseMore, type Command } from '../command';

export const addressCommand: Command = {
  usage: 'address',
  help: 'prints a new address of the app that is being served, for another browser window',
  run(args) {
    const { positionals, home } = readArguments(args, {});
    refuseMore(positionals, 0, addressCommand.usage);
    const port = isLocked(home) ? notedPort(home) : null;
    if (port === null) {
      throw new AtelierError('not_found', `No page is served of ${home}.`, `Serve it: ${PROGRAM} serve`);
    }
    process.stdout.write(`http://127.0.0.1:${port}/#code=${leaveCode(home)}\n`);
    return Promise.resolve(0);
  },
};
