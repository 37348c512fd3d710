import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { contract, type AtelierContract } from '../../shared/contract';
import type { FollowItem, RunConfigInput } from '../../shared/contract/runs';
import { createClient, socketPort, type Client } from '../../shared/rpc';

export const temporaryHome = () => mkdtempSync(join(tmpdir(), 'atelier-home-'));

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
