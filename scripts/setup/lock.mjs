// One set-up at a time in a checkout: two builds in one folder would break each other.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cache } from './paths.mjs';
import { outputOf, watchChildren } from './exec.mjs';
import { say } from './log.mjs';

const file = join(cache, 'setup.lock');
const draft = `${file}.${process.pid}`;

/** When a process began, in the system's own words; null where it has ended. With its number it is one process. */
function birth(pid) {
  if (process.platform !== 'linux') return outputOf('ps', ['-o', 'lstart=', '-p', String(pid)]);
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? null : fields[18];
  } catch {
    return null;
  }
}

/** One line a living process: its number and its birth. */
function entries(pids) {
  return pids.flatMap((pid) => {
    const born = birth(pid);
    return born === null ? [] : `${pid} ${born}`;
  });
}

/** The number of a process that still works under the lock, if any. */
function holder() {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return null;
  }
  const lines = text.split('\n');
  const [alive] = entries(lines.map((line) => line.split(' ')[0])).filter((line) => lines.includes(line));
  return alive?.split(' ')[0] ?? null;
}

/** @returns {boolean} whether the lock is ours; its file appears whole */
function take() {
  writeFileSync(draft, entries([process.pid]).join());
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(draft);
  }
}

/** Runs `work` while no other set-up runs here. One that was killed does not count once its commands have ended. */
export async function withLock(work) {
  mkdirSync(cache, { recursive: true });
  for (let told = false; !take();) {
    const pid = holder();
    if (pid === null) {
      rmSync(file, { force: true });
      continue;
    }
    if (!told) say(`another set-up runs in this folder (process ${pid}); waiting for it`);
    told = true;
    await sleep(300);
  }
  const unwatch = watchChildren((pids) => {
    writeFileSync(draft, entries([process.pid, ...pids]).join('\n'));
    renameSync(draft, file);
  });
  const release = () => rmSync(file, { force: true });
  process.on('exit', release);
  try {
    return await work();
  } finally {
    unwatch();
    release();
    process.off('exit', release);
  }
}
