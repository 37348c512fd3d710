import { fork } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Supervisor, type Child, type SupervisorOptions, type SupervisorState } from './supervisor';

const dir = mkdtempSync(join(tmpdir(), 'atelier-supervisor-'));
function script(name: string, code: string): string {
  const file = join(dir, `${name}.mjs`);
  writeFileSync(file, code);
  return file;
}
const stubborn = script(
  'stubborn',
  `process.on('SIGTERM', () => {}); process.send('ready'); setInterval(() => {}, 1e6);`,
);
const calm = script('calm', `process.send('ready'); setInterval(() => {}, 1e6);`);
const broken = script('broken', `process.exit(3);`);

function child(file: string): Child {
  const process = fork(file);
  return {
    pid: process.pid,
    kill: (signal) => void process.kill(signal),
    onExit: (listener) => void process.once('exit', listener),
    onReady: (listener) => void process.once('message', listener),
  };
}

/** Runs a supervisor and lets a test wait for its states. */
function supervise(file: string, options: Partial<SupervisorOptions> = {}) {
  const states: SupervisorState[] = [];
  let wake = (): void => {};
  const supervisor = new Supervisor({
    fork: () => child(file),
    firstDelayMs: 5,
    ...options,
    onState: (state) => {
      states.push(state);
      wake();
    },
  });
  const until = async (wanted: SupervisorState['state'], count = 1): Promise<SupervisorState> => {
    for (;;) {
      const found = states.filter(({ state }) => state === wanted)[count - 1];
      if (found) return found;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  running.push(supervisor);
  supervisor.start();
  return { supervisor, states, until };
}
const running: Supervisor[] = [];
afterEach(() => Promise.all(running.splice(0).map((supervisor) => supervisor.stop())));

describe('Supervisor', () => {
  it('restarts a process that was killed, and says why', async () => {
    const { supervisor, until } = supervise(calm);
    await until('ready');
    const first = supervisor.child!.pid!;
    process.kill(first, 'SIGKILL');
    expect(await until('restarting')).toMatchObject({ reason: 'signal SIGKILL' });
    await until('ready', 2);
    expect(supervisor.child!.pid).not.toBe(first);
  });

  it('gives up on one that never lives, waiting longer each time, and can be started again', async () => {
    const { supervisor, states, until } = supervise(broken, { giveUpAfter: 3 });
    expect(await until('failed')).toMatchObject({ reason: 'ended 3 times in a row, last by exit code 3' });
    expect(states.flatMap((s) => (s.state === 'restarting' ? [s.inMs] : []))).toEqual([5, 10]);
    supervisor.start();
    await until('failed', 2);
  });

  it('kills one that ignores SIGTERM', async () => {
    const { supervisor, until } = supervise(stubborn, { graceMs: 50 });
    await until('ready');
    await supervisor.stop();
    expect(supervisor.child).toBeNull();
  });
});
