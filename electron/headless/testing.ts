import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { contract, type AtelierContract } from '../../shared/contract';
import type { FollowItem, RunConfigInput } from '../../shared/contract/runs';
import { createClient, socketPort, type Client } from '../../shared/rpc';

export const temporaryHome = () => mkdtempSync(join(tmpdir(), 'atelier-home-'));

export interface Ended {
  code: number;
  out: string;
  error: string;
}
export interface How {
  file?: string;
  /** What its standard input holds. */
  input?: string;
  env?: Record<string, string>;
}

/** A command as a person runs it. `said`: settles once the output has a text. */
export function startCommand(home: string, args: string[], { file = 'cli.ts', input = '', env }: How = {}) {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', fileURLToPath(new URL(file, import.meta.url)), ...args],
    {
      env: { ...process.env, ATELIER_HOME: home, ATELIER_DEVICE: 'cpu', ...env },
    },
  );
  const result = { code: -1, out: '', error: '' };
  child.stdout.on('data', (data) => (result.out += String(data)));
  child.stderr.on('data', (data) => (result.error += String(data)));
  child.stdin.end(input);
  const ended = new Promise<Ended>((resolve) =>
    child.on('close', (code) => resolve({ ...result, code: code ?? -1 })),
  );
  const said = (text: string) =>
    new Promise<void>((resolve) => child.stdout.on('data', () => result.out.includes(text) && resolve()));
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
