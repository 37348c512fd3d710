import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { startWebHost } from '../web-host';
import { readArguments, readPort, refuseMore, type Command } from '../command';

const DEFAULT_PORT = 4780;

export const serveCommand: Command = {
  usage: 'serve [--port N] [--models DIR]... [--open]',
  help: 'opens the app in a browser, on this machine only',
  async run(args) {
    const { values, positionals, home, device, devices } = readArguments(args, {
      port: { type: 'string' },
      models: { type: 'string', multiple: true },
      open: { type: 'boolean' },
    });
    refuseMore(positionals, 0, serveCommand.usage);
    let first = true;
    const host = await startWebHost({
      home,
      device,
      devices,
      roots: (values.models ?? []).map((folder) => resolve(folder)),
      port: readPort(values.port, DEFAULT_PORT),
      onAddress(address) {
        const words = first ? 'Atelier is at' : 'For another window:';
        process.stdout.write(`${words} ${address}\n`);
        if (first && values.open) openBrowser(address);
        first = false;
      },
      onState(state) {
        if (state.state === 'restarting')
          process.stderr.write(`The backend ended (${state.reason}); it starts again.\n`);
        if (state.state === 'failed')
          process.stderr.write(`The backend does not stay up: ${state.reason}.\n`);
      },
    });
    await new Promise<void>((done) => {
      process.once('SIGINT', done);
      process.once('SIGTERM', done);
    });
    process.stdout.write('Closing; a run at work can be resumed.\n');
    await host.stop();
    return 0;
  },
};

function openBrowser(address: string): void {
  const program =
    process.platform === 'darwin' ? 'open' : process.platform === 'win32' ? 'explorer' : 'xdg-open';
  // the address is printed all the same
  spawn(program, [address], { stdio: 'ignore', detached: true })
    .on('error', () => undefined)
    .unref();
}
