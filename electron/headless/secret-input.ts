import { text } from 'node:stream/consumers';
import { AtelierError } from '../../shared/rpc';

const [CTRL_C, CTRL_D, BACKSPACE, DELETE] = ['\u0003', '\u0004', '\b', '\u007f'];

/**
 * A secret from standard input: typed without being shown, or what a pipe holds. Never an argument, which other
 * users of the machine can see and shells keep.
 * @throws AtelierError cancelled, or invalid_input where there is none
 */
export async function readSecret(prompt: string): Promise<string> {
  const { stdin } = process;
  const secret = (stdin.isTTY ? await typed(prompt) : await text(stdin)).trim();
  if (secret !== '') return secret;
  throw new AtelierError('invalid_input', 'Standard input is empty.', 'Type it, or pipe it in.');
}

function typed(prompt: string): Promise<string> {
  const { stdin, stderr } = process;
  stderr.write(prompt);
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  return new Promise((resolve, reject) => {
    let line = '';
    const end = (settle: () => void) => {
      stdin.removeListener('data', read);
      stdin.setRawMode(false);
      stdin.pause();
      stderr.write('\n');
      settle();
    };
    const read = (data: string) => {
      for (const key of data) {
        if (key === CTRL_C) return end(() => reject(new AtelierError('cancelled', 'Nothing was kept.')));
        if (key === '\r' || key === '\n' || key === CTRL_D) return end(() => resolve(line));
        line = key === BACKSPACE || key === DELETE ? line.slice(0, -1) : line + key;
      }
    };
    stdin.on('data', read);
  });
}
