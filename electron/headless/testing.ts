import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { contract, type AtelierContract } from '../../shared/contract';
import type { FollowItem, RunConfigInput } from '../../shared/contract/runs';
import { createClient, socketPort, type Client } from '../../shared/rpc';
import { appRoot } from '../backend/system';
import type { Local } from './local';

export const temporaryHome = () => mkdtempSync(join(tmpdir(), 'atelier-home-'));

export interface Ended {
  code: number;
  out: string;
  error: string;
}
export interface How {
  program?: 'cli' | 'demo';
  /** What its standard input holds. */
  input?: string;
  env?: Record<string, string>;
}

/** A command as a person runs it, from its bundle. `said`: once the output has a text; fails where it ends without. */
export function startCommand(home: string, args: string[], { program = 'cli', input = '', env }: How = {}) {
  const bundle = fileURLToPath(new URL(`../../dist/headless/${program}.js`, import.meta.url));
  const child = spawn(process.execPath, [bundle, ...args], {
    env: { ...process.env, ATELIER_HOME: home, ATELIER_DEVICE: 'cpu', ...env },
  });
  const result = { code: -1, out: '', error: '' };
  child.stdout.on('data', (data) => (result.out += String(data)));
  child.stderr.on('data', (data) => (result.error += String(data)));
  child.stdin.end(input);
  const ended = new Promise<Ended>((resolve) =>
    child.on('close', (code) => resolve({ ...result, code: code ?? -1 })),
  );
  const said = (text: string) =>
    new Promise<void>((resolve, reject) => {
      child.stdout.on('data', () => result.out.includes(text) && resolve());
      void ended.then(({ code, error }) =>
        reject(new Error(`it ended with ${code} and never said "${text}": ${error}`)),
      );
    });
  return { child, ended, said };
}

/** A page's part: exchanges the code of an address, connects, and connects again when the backend was away. */
export class Visitor {
  #token = '';
  #origin = '';

  static async open(address: string): Promise<Visitor> {
    const visitor = new Visitor();
    const url = new URL(address);
    visitor.#origin = url.origin;
    const answer = await fetch(`${url.origin}/api/session`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: url.origin },
      body: JSON.stringify({ code: url.hash.replace('#code=', '') }),
    });
    if (!answer.ok) throw new Error(`session: ${answer.status} ${await answer.text()}`);
    visitor.#token = ((await answer.json()) as { token: string }).token;
    return visitor;
  }

  /** Tries until the backend answers. */
  async connect(): Promise<Client<AtelierContract>> {
    for (;;) {
      const socket = new WebSocket(`${this.#origin.replace('http', 'ws')}/api/ws`, { origin: this.#origin });
      try {
        await once(socket, 'open');
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
        continue;
      }
      const port = socketPort(socket as never);
      void port.post({ auth: this.#token });
      return createClient(contract, port);
    }
  }

  /** Follows a run to its end across lost connections, from the last seq each time. */
  async *follow(id: string): AsyncGenerator<FollowItem> {
    for (let after = 0; ;) {
      try {
        const client = await this.connect();
        for await (const item of client.runs.follow({ id, after })) {
          if ('seq' in item) after = item.seq;
          yield item;
        }
        return;
      } catch (error) {
        if ((error as { code?: string }).code !== 'unavailable') throw error;
      }
    }
  }
}

/** Follows a run to its end, or until `stop` says so. */
export async function follow(
  { client }: Pick<Local, 'client'>,
  id: string,
  stop: (item: FollowItem) => boolean = () => false,
): Promise<FollowItem[]> {
  const items: FollowItem[] = [];
  for await (const item of client.runs.follow({ id })) {
    items.push(item);
    if (stop(item)) break;
  }
  return items;
}

/** A data set of the first rows of a bundled one. @returns its id */
export async function firstRows(local: Local, home: string, dataset: string, count: number): Promise<string> {
  const rows = readFileSync(join(appRoot(), 'resources/datasets', `${dataset}.jsonl`), 'utf8').split('\n');
  const path = join(home, `${dataset}-${count}.jsonl`);
  writeFileSync(path, `${rows.slice(0, count).join('\n')}\n`);
  return (await local.client.datasets.add({ path })).id;
}

/** A short GRPO run on the bundled model. */
export const shortRun = (more: Partial<RunConfigInput> = {}): RunConfigInput => ({
  name: 'short',
  algorithm: 'grpo',
  model: 'abacus',
  data: { dataset: 'sums' },
  rewards: [{ id: 'sums' }],
  params: { steps: 6, prompts: 2, groupSize: 4, maxNewTokens: 64, learningRate: 1e-3 },
  seed: 3,
  checkpointEvery: 2,
  ...more,
});
