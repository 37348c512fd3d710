import { appendFileSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';

const MAX_BYTES = 4 * 1024 * 1024;

/** The backend's log: a file in the data folder (and the one before it), a line an entry. */
export class Log {
  readonly file: string;

  constructor(home: string) {
    mkdirSync(join(home, 'logs'), { recursive: true });
    this.file = join(home, 'logs', 'backend.log');
  }

  write(level: 'info' | 'warning' | 'error', message: string, error?: unknown): void {
    const detail =
      error === undefined
        ? ''
        : ` ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
    const line = `${new Date().toISOString()} ${level} ${message}${detail}`.replaceAll('\n', '\n  ');
    try {
      this.#rotate();
      appendFileSync(this.file, `${line}\n`);
    } catch {
      // a full disk must not take the backend down
      process.stderr.write(`${line}\n`);
    }
  }

  tail(lines: number): string {
    try {
      return readFileSync(this.file, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
    } catch {
      return '';
    }
  }

  #rotate(): void {
    const bytes = statSync(this.file, { throwIfNoEntry: false })?.size ?? 0;
    if (bytes > MAX_BYTES) renameSync(this.file, `${this.file}.1`);
  }
}
