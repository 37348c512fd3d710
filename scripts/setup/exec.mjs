import { spawn, spawnSync } from 'node:child_process';
import { root } from './paths.mjs';
import { SetupError } from './log.mjs';

const children = new Set();
let watcher = () => {};

function begun(child) {
  children.add(child);
  watcher(pids());
}

function ended(child) {
  children.delete(child);
  watcher(pids());
}

// A command that could not be started has no number.
const pids = () => [...children].flatMap(({ pid }) => pid ?? []);

/** Tells the numbers of the running commands whenever they change. @returns {() => void} ends that */
export function watchChildren(tell) {
  watcher = tell;
  return () => (watcher = () => {});
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => {
    for (const child of children) child.kill(signal);
    // The child has the same terminal and ends by itself; we end when it has.
    if (children.size === 0) process.exit(130);
  });

/**
 * Runs a command to its end with its output shown on stderr (`quiet`: kept, and shown only when it fails).
 * Throws a SetupError that names the command when it fails.
 */
export async function run(command, args, { quiet = false, cwd = root, env = {} } = {}) {
  const output = [];
  const { code, signal } = await new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', quiet ? 'pipe' : 2, quiet ? 'pipe' : 2],
    });
    begun(child);
    child.stdout?.on('data', (chunk) => output.push(chunk));
    child.stderr?.on('data', (chunk) => output.push(chunk));
    child.on('error', (error) => (ended(child), reject(error)));
    child.on('close', (code, signal) => (ended(child), resolve({ code, signal })));
  });
  if (code === 0) return;
  if (quiet) process.stderr.write(Buffer.concat(output));
  throw new SetupError(`${[command, ...args].join(' ')} ended with ${signal ?? `code ${code}`}.`);
}

/** Runs a task in the foreground with our standard streams; resolves to its exit code. */
export function runTask(command, args, env = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, env: { ...process.env, ...env }, stdio: 'inherit' });
    begun(child);
    child.on('error', reject);
    child.on('close', (code, signal) => (ended(child), resolve(signal ? 1 : code)));
  });
}

/** Standard output of a short command, or null where it is missing or fails. */
export function outputOf(command, args) {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8', cwd: root });
  return status === 0 ? stdout.trim() : null;
}
