import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { appRoot } from '../electron/backend/system';

const run = (command: string, args: string[]) => {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? `exit code ${status}`}`);
};

/** Python of a virtual environment with exactly the packages of requirements.txt; made once (about 5 GB). */
export function python(): string {
  const folder = join(appRoot(), '.cache', 'python');
  const wanted = join(appRoot(), 'test', 'requirements.txt');
  const made = join(folder, 'requirements.txt');
  const binary = join(folder, 'bin', 'python');
  const text = readFileSync(wanted, 'utf8');
  if (existsSync(made) && readFileSync(made, 'utf8') === text) return binary;
  console.log(
    'Making the virtual environment with torch, transformers, peft and trl (about 5 GB, several minutes) ...',
  );
  rmSync(folder, { recursive: true, force: true });
  run('python3', ['-m', 'venv', folder]);
  run(binary, ['-m', 'pip', 'install', '--quiet', '--requirement', wanted]);
  // Last, so that a broken installation is made again.
  writeFileSync(`${made}.part`, text);
  renameSync(`${made}.part`, made);
  return binary;
}
