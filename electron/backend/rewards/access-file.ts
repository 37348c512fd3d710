import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { AtelierError } from '../../../shared/rpc';
import { writePrivate } from '../store';

const Contents = z.object({
  format: z.literal(1).default(1),
  /** Hashes of Python code that may run unconfined. */
  code: z.array(z.string()).default([]),
  /** Addresses that answers may be sent to. */
  judges: z.array(z.string()).default([]),
  keys: z.record(z.string(), z.string()).default({}),
});

/** What a person allowed rewards, and the keys of judges: a file of the data folder that only its owner can read. */
export class AccessFile {
  readonly #path: string;
  #contents: z.output<typeof Contents>;

  /** A file that cannot be read allows nothing. */
  constructor(home: string) {
    this.#path = join(home, 'reward-access.json');
    try {
      this.#contents = Contents.parse(JSON.parse(readFileSync(this.#path, 'utf8')));
    } catch {
      this.#contents = Contents.parse({});
    }
  }

  allowsCode = (hash: string): boolean => this.#contents.code.includes(hash);
  allowsJudge = (address: string): boolean => this.#contents.judges.includes(address);
  key = (address: string): string | null => this.#contents.keys[address] ?? null;

  allow(kind: 'code' | 'judges', name: string, allowed: boolean): void {
    const rest = this.#contents[kind].filter((each) => each !== name);
    this.#save({ ...this.#contents, [kind]: allowed ? [...rest, name] : rest });
  }

  /** @throws AtelierError invalid_input where the key would go over the network in the open */
  setKey(address: string, key: string | null): void {
    const url = URL.canParse(address) ? new URL(address) : null;
    if (url === null || !/^https?:$/.test(url.protocol) || url.origin !== address) {
      throw new AtelierError(
        'invalid_input',
        `"${address}" is not an address: scheme, host and port.`,
        undefined,
        {
          path: 'address',
        },
      );
    }
    if (key !== null && url.protocol === 'http:' && !LOCAL.has(url.hostname)) {
      throw new AtelierError(
        'invalid_input',
        `A key for ${address} would go over the network unencrypted.`,
        'Use an address that begins with https://.',
        { path: 'key' },
      );
    }
    const { [address]: _, ...others } = this.#contents.keys;
    this.#save({ ...this.#contents, keys: key === null ? others : { ...others, [address]: key } });
  }

  #save(contents: z.output<typeof Contents>): void {
    const temporary = `${this.#path}.tmp`;
    writePrivate(temporary, JSON.stringify(contents, null, 2));
    renameSync(temporary, this.#path);
    this.#contents = contents;
  }
}

const LOCAL = new Set(['127.0.0.1', 'localhost', '[::1]']);
