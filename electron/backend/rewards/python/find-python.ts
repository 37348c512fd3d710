import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface Python {
  /** The interpreter itself, behind shims and links of version managers. */
  path: string;
  version: string;
}

const OLDEST = [3, 9] as const;
const ask = promisify(execFile);

/** Where a window's PATH, which is short on macOS, may not lead. */
const PLACES =
  process.platform === 'win32'
    ? ['python', 'py']
    : ['python3', '/opt/homebrew/bin/python3', '/usr/local/bin/python3', '/usr/bin/python3'];

/** `ATELIER_PYTHON` where it is set, else the first that answers; null: there is none. */
export async function findPython(named = process.env['ATELIER_PYTHON']): Promise<Python | null> {
  for (const place of named ? [named] : PLACES) {
    const found = await question(place);
    if (found) return found;
  }
  return null;
}

async function question(place: string): Promise<Python | null> {
  const code = 'import sys; print(sys.executable); print(*sys.version_info[:3], sep=".")';
  try {
    const { stdout } = await ask(place, ['-I', '-c', code], { timeout: 20_000 });
    const [path, version] = stdout.split(/\r?\n/);
    if (!path || !version) return null;
    const [major = 0, minor = 0] = version.split('.').map(Number);
    return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]) ? { path, version } : null;
  } catch {
    return null;
  }
}
