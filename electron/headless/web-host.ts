import { fork, type ChildProcess } from 'node:child_process';
import { AtelierError } from '../../shared/rpc';
import { makeSecret } from '../backend/transport';
import { PROGRAM } from './command';
import { entryFile } from '../supervise/entry-file';
import { Supervisor, type Child, type SupervisorState } from '../supervise/supervisor';
import type { FromChild, ToChild, WebOptions } from './web-messages';

export interface WebHostOptions extends WebOptions {
  port: number;
  /** A new address with an unused code: at the start, and after each that was used. */
  onAddress: (address: string) => void;
  onState?: (state: SupervisorState) => void;
}

export interface WebHost {
  port: number;
  /** Of the backend, null between two. */
  readonly pid: number | null;
  stop(): Promise<void>;
}

/**
 * Supervises the backend process of the web host. After a crash it comes back on the same port and knows the
 * page's token, so that the page goes on by itself.
 * @throws AtelierError when the first start fails: a port in use, another backend on the folder ...
 */
export function startWebHost(options: WebHostOptions): Promise<WebHost> {
  const { onAddress, onState, port: wanted, ...web } = options;
  return new Promise((resolve, reject) => {
    let port = wanted;
    let code = makeSecret();
    let started = false;
    let process_: ChildProcess | null = null;
    const address = () => `http://127.0.0.1:${port}/#code=${code}`;
    const post = (message: ToChild) => process_?.connected && process_.send(message);

    function heard(message: FromChild, onReady: () => void): void {
      switch (message.type) {
        case 'ready':
          port = message.port;
          onReady();
          if (!started) {
            started = true;
            resolve({
              port,
              get pid() {
                return process_?.pid ?? null;
              },
              stop: () => supervisor.stop(),
            });
            onAddress(address());
          }
          return;
        case 'code-used':
          code = makeSecret();
          post({ type: 'code', code });
          onAddress(address());
          return;
        case 'fatal':
          if (started) return;
          void supervisor.stop();
          reject(new AtelierError('conflict', message.message, message.hint));
          return;
        case 'working':
      }
    }

    function forkBackend(): Child {
      const child = fork(entryFile('headless/web-child'), { serialization: 'advanced' });
      process_ = child;
      post({ type: 'start', options: web, port, codes: [code], restarted: started });
      return {
        pid: child.pid,
        kill: (signal) => void child.kill(signal),
        onExit: (listener) =>
          void child.once('exit', (exit, signal) => {
            process_ = null;
            listener(exit, signal);
          }),
        onReady: (listener) => void child.on('message', (message) => heard(message as FromChild, listener)),
      };
    }

    const supervisor = new Supervisor({
      fork: forkBackend,
      onState: (state) => {
        onState?.(state);
        if (state.state === 'failed' && !started) {
          reject(
            new AtelierError(
              'unavailable',
              `The backend does not start: ${state.reason}.`,
              `${PROGRAM} check`,
            ),
          );
        }
      },
    });
    supervisor.start();
  });
}
