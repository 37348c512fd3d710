// One set-up at a time in a checkout: two builds in one folder would break each other.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cache } from './paths.mjs';
import { say } from './log.mjs';

const file = join(cache, 'setup.lock');

function holder() {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    process.kill(pid, 0);
    return pid;
  } catch (error) {
    // EPERM: alive, another user's. Anything else: gone, or killed before it could write its number.
    return error.code === 'EPERM' ? -1 : null;
  }
}

/** Runs `work` while no other set-up runs here. A holder that was killed does not count. */
export async function withLock(work) {
  mkdirSync(cache, { recursive: true });
  for (let told = false; ;) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const pid = holder();
    if (pid === null) {
      rmSync(file, { force: true });
      continue;
    }
    if (!told) say(`another set-up runs in this folder (process ${pid}); waiting for it`);
    told = true;
    await sleep(300);
  }
  const release = () => rmSync(file, { force: true });
  process.on('exit', release);
  try {
    return await work();
  } finally {
    release();
    process.off('exit', release);
  }
}
