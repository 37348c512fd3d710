// What set-up is doing, one line a step with its time. On stderr: a task's stdout is its own.
import { writeSync } from 'node:fs';

const started = Date.now();

/** Seconds since the process began, e.g. "12.3 s". */
export function elapsed(since = started) {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`;
}

export function say(text) {
  writeSync(2, `· ${text}\n`);
}

/** Runs `work`, and says what it is before and how long it took after. */
export async function step(title, work) {
  say(title);
  const since = Date.now();
  const result = await work();
  say(`${title}: done in ${elapsed(since)}`);
  return result;
}

/** An error whose message is all a person needs: printed without a stack. */
export class SetupError extends Error {
  /** @param {string} message what and where @param {string} [hint] what to do */
  constructor(message, hint) {
    super(hint ? `${message}\n  ${hint.replaceAll('\n', '\n  ')}` : message);
  }
}
