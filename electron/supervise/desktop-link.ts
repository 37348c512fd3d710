import { mainPort, type MainPort } from '../../shared/rpc/adapters/main-port';
import type { Port } from '../../shared/rpc/port';
import type { HostSpawn, SpawnKind, Spawned } from './host-spawn';

/** Electron's main to the backend's utility process. */
export type ToBackend =
  /** A page came: ports[0] is its port. */
  | { type: 'page' }
  /** The helper process asked for runs: ports[0] leads to it. */
  | { type: 'spawned'; request: number; pid: number }
  | { type: 'spawn-failed'; request: number; message: string }
  | { type: 'exited'; pid: number; code: number; words: string };

/** The backend's utility process to main. */
export type FromBackend =
  | { type: 'ready' }
  | { type: 'spawn'; request: number; kind: SpawnKind }
  | { type: 'kill'; pid: number; signal: 'SIGTERM' | 'SIGKILL' }
  /** Name of the run at work, null when none: main keeps the machine awake and asks before quitting. */
  | { type: 'working'; run: string | null };

/** What we use of Electron's process.parentPort. */
export interface ParentPort {
  on(event: 'message', listener: (event: { data: ToBackend; ports: MainPort[] }) => void): unknown;
  postMessage(message: FromBackend): void;
}

interface Helper {
  exit: { code: number; words: string } | null;
  listeners: ((code: number | null, signal: string | null, words: string) => void)[];
}

export interface DesktopLink {
  spawn: HostSpawn;
  onPage(listener: (port: Port) => void): void;
  ready(): void;
  working(run: string | null): void;
}

/** The backend's end of the link: only main can start utility processes, so spawning asks it. */
export function desktopLink(parent: ParentPort): DesktopLink {
  const asked = new Map<number, { resolve: (spawned: Spawned) => void; reject: (error: Error) => void }>();
  const helpers = new Map<number, Helper>();
  let next = 1;
  let onPage: (port: Port) => void = () => undefined;

  parent.on('message', ({ data, ports }) => {
    switch (data.type) {
      case 'page':
        return onPage(mainPort(ports[0]!));
      case 'spawned': {
        const helper: Helper = { exit: null, listeners: [] };
        helpers.set(data.pid, helper);
        asked.get(data.request)?.resolve(spawned(data.pid, mainPort(ports[0]!), helper));
        asked.delete(data.request);
        return undefined;
      }
      case 'spawn-failed':
        asked.get(data.request)?.reject(new Error(data.message));
        asked.delete(data.request);
        return undefined;
      case 'exited': {
        const helper = helpers.get(data.pid);
        helpers.delete(data.pid);
        if (!helper) return undefined;
        helper.exit = { code: data.code, words: data.words };
        for (const listener of helper.listeners.splice(0)) listener(data.code, null, data.words);
        return undefined;
      }
    }
  });

  function spawned(pid: number, port: Port, helper: Helper): Spawned {
    return {
      pid,
      port,
      kill: (signal) => parent.postMessage({ type: 'kill', pid, signal }),
      onExit: (listener) => {
        if (helper.exit) listener(helper.exit.code, null, helper.exit.words);
        else helper.listeners.push(listener);
      },
    };
  }

  return {
    spawn: (kind) =>
      new Promise((resolve, reject) => {
        const request = next++;
        asked.set(request, { resolve, reject });
        parent.postMessage({ type: 'spawn', request, kind });
      }),
    onPage: (listener) => (onPage = listener),
    ready: () => parent.postMessage({ type: 'ready' }),
    working: (run) => parent.postMessage({ type: 'working', run }),
  };
}
