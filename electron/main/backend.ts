import {
  MessageChannelMain,
  powerSaveBlocker,
  utilityProcess,
  type UtilityProcess,
  type WebContents,
} from 'electron';
import { desktopChannels } from '../../shared/contract/desktop';
import type { FromBackend, ToBackend } from '../supervise/desktop-link';
import type { SpawnKind } from '../supervise/host-spawn';
import { lastWords } from '../supervise/last-words';
import { Supervisor, type Child, type SupervisorState } from '../supervise/supervisor';

export interface BackendOptions {
  /** Bundle of the backend, and of each helper it may ask for. */
  bundles: { backend: string } & Record<SpawnKind, string>;
  /** The whole environment of the processes: never main's own. */
  env: Record<string, string>;
  onState: (state: SupervisorState) => void;
}

/**
 * The backend's utility process: keeps it running, introduces pages and helper processes to it, and relays
 * nothing.
 */
export class Backend {
  /** Name of the run at work; null when there is none. */
  working: string | null = null;
  #process: UtilityProcess | null = null;
  /** Every page that asked: each backend that comes is introduced to all, so none is left with a dead port. */
  readonly #pages = new Set<WebContents>();
  #ready = false;
  #forks = 0;
  #blocker: number | null = null;
  readonly #helpers = new Map<number, UtilityProcess>();
  readonly #supervisor: Supervisor;

  constructor(private readonly options: BackendOptions) {
    this.#supervisor = new Supervisor({
      fork: () => this.#fork(),
      onState: (state) => {
        this.#ready = state.state === 'ready';
        if (this.#ready) for (const page of this.#pages) this.#introduce(page);
        else this.#gone();
        options.onState(state);
      },
    });
  }

  start(): void {
    this.#supervisor.start();
  }

  stop(): Promise<void> {
    return this.#supervisor.stop();
  }

  /** Hands the page a port to the backend, now or as soon as there is one. */
  introduce(page: WebContents): void {
    this.#pages.add(page);
    if (this.#ready) this.#introduce(page);
  }

  #introduce(page: WebContents): void {
    if (page.isDestroyed()) {
      this.#pages.delete(page);
      return;
    }
    const { port1, port2 } = new MessageChannelMain();
    this.#send({ type: 'page' }, [port1]);
    page.postMessage(desktopChannels.port, null, [port2]);
  }

  #fork(): Child {
    // A backend that follows another resumes the run that the other was at.
    const process = this.#utility('backend', 'Atelier engine', this.#forks++ > 0 ? ['--restarted'] : []);
    this.#process = process;
    return {
      get pid() {
        return process.pid;
      },
      kill: (signal) => kill(process, signal),
      onExit: (listener) => void process.once('exit', (code) => listener(code, null)),
      onReady: (listener) =>
        void process.on('message', (message) => this.#heard(message as FromBackend, listener)),
    };
  }

  #heard(message: FromBackend, onReady: () => void): void {
    switch (message.type) {
      case 'ready':
        return onReady();
      case 'spawn':
        return this.#spawn(message.request, message.kind);
      case 'kill': {
        const helper = this.#helpers.get(message.pid);
        if (helper) kill(helper, message.signal);
        return undefined;
      }
      case 'working':
        return this.#work(message.run);
    }
  }

  #spawn(request: number, kind: SpawnKind): void {
    const helper = this.#utility(kind, `Atelier ${kind}`);
    helper.once('spawn', () => {
      const pid = helper.pid;
      if (pid === undefined) return;
      this.#helpers.set(pid, helper);
      const { port1, port2 } = new MessageChannelMain();
      helper.postMessage(null, [port1]);
      this.#send({ type: 'spawned', request, pid }, [port2]);
      const words = lastWords(helper.stderr);
      helper.once('exit', (code) => {
        this.#helpers.delete(pid);
        this.#send({ type: 'exited', pid, code, words: words() });
      });
    });
    helper.once('error', (_type, location) => {
      this.#send({ type: 'spawn-failed', request, message: `${kind} process failed at ${location}` });
    });
  }

  #utility(kind: 'backend' | SpawnKind, serviceName: string, args: string[] = []): UtilityProcess {
    // What came from elsewhere runs there: nothing of the environment goes along, and macOS asks for itself.
    const foreign = kind === 'reward' || kind === 'template';
    return utilityProcess.fork(this.options.bundles[kind], args, {
      serviceName,
      env: foreign ? {} : this.options.env,
      disclaim: foreign,
      stdio: kind === 'rank' ? ['ignore', 'inherit', 'pipe'] : 'inherit',
    });
  }

  #send(message: ToBackend, ports: Electron.MessagePortMain[] = []): void {
    this.#process?.postMessage(message, ports);
  }

  #gone(): void {
    this.#work(null);
    for (const helper of this.#helpers.values()) kill(helper, 'SIGKILL');
    this.#helpers.clear();
  }

  /** A machine must not fall asleep over a run. */
  #work(run: string | null): void {
    this.working = run;
    if (run !== null) this.#blocker ??= powerSaveBlocker.start('prevent-app-suspension');
    else if (this.#blocker !== null) {
      powerSaveBlocker.stop(this.#blocker);
      this.#blocker = null;
    }
  }
}

/** UtilityProcess.kill is SIGTERM, which a hung native call ignores. */
function kill(child: UtilityProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  const pid = child.pid;
  child.kill();
  if (signal === 'SIGTERM' || pid === undefined) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It has ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
