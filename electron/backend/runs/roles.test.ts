// Reward models with the real engine; their scores are transformers' (conformance/fixtures/reward_models).
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { engineModule } from '../../../native';
import { AtelierError } from '../../../shared/rpc';
import { nodeSpawn } from '../../supervise/node-spawn';
import { openLibrary, type Library } from '../entry/library';
import { librarySources } from '../entry/sources';
import { EngineHost, appRoot } from '../system';
import type { ChatMessage } from '../text';
import type { Sample } from '../train';
import { openRewardModel, type RolesFrom } from './roles';

const fixtures = fileURLToPath(new URL('../../../conformance/fixtures', import.meta.url));
const signal = new AbortController().signal;

interface Conversations {
  tokenizer: string;
  messages: ChatMessage[][];
  scores: number[];
}

let home: string;
let library: Library;
let from: RolesFrom;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'atelier-home-'));
  const module = () => engineModule('cpu');
  const resources = join(appRoot(), 'resources');
  library = openLibrary({ home, resources, roots: null, module, spawn: nodeSpawn });
  const engineHost = new EngineHost('cpu', module);
  from = {
    sources: librarySources(library),
    engineHost,
    engine: await engineHost.engine(),
    runs: {
      about: () => {
        throw new AtelierError('not_found', 'no runs here');
      },
      taught: () => Promise.reject(new AtelierError('not_found', 'no runs here')),
    },
    microTokens: 64,
  };
});
afterAll(async () => {
  library.renderer.close();
  await library.scoring.close();
  await library.algorithmHost.close();
  await from.engineHost.close();
  rmSync(home, { recursive: true });
});

/** A folder as the Hub has it: a fixture's classifier with a tokenizer. */
async function added(name: string) {
  const folder = join(home, name);
  mkdirSync(folder);
  const io = JSON.parse(readFileSync(join(fixtures, 'reward_models', name, 'io.json'), 'utf8')) as {
    conversations: Conversations;
  };
  for (const file of ['config.json', 'model.safetensors'])
    cpSync(join(fixtures, 'reward_models', name, file), join(folder, file));
  for (const file of ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'])
    cpSync(join(appRoot(), io.conversations.tokenizer, file), join(folder, file));
  return { model: await library.models.add({ path: folder }), ...io.conversations };
}

const sample = (messages: ChatMessage[]): Sample => ({
  prompt: {
    line: 1,
    text: '',
    ids: new Int32Array(),
    answer: null,
    messages: messages.slice(0, -1),
    row: {},
  },
  completion: messages.at(-1)!.content as string,
  ids: new Int32Array(),
  index: 0,
});

// the second has another tokenizer and template than any policy here: what it reads is written anew, with its own
it.each(['qwen3', 'qwen2'])(
  'the classifier %s, once added, scores conversations as transformers does',
  async (name) => {
    const { model, messages, scores } = await added(name);
    expect(model).toMatchObject({ state: 'ready', scalarHead: true });
    const chosen = { model: model.id, adapter: null, weight: 0.5 };
    const { role, release } = await openRewardModel(chosen, from);
    expect(role).toMatchObject({ name: 'model', weight: 0.5 });
    const endless = [...messages[0]!.slice(0, -1), { role: 'assistant', content: '85 '.repeat(300) }];
    const all = await role.scorer.score(
      [...messages, endless].map(sample),
      { seed: 0, step: 1, breaks: { count: 0 } },
      signal,
    );
    scores.forEach((score, k) => expect(all[k]!.reward).toBeCloseTo(score, 4));
    expect(all.at(-1)).toMatchObject({
      reward: null,
      status: 'error',
      error: expect.stringMatching(/\d+ tokens; .* reads at most 256/),
    });
    await release();
  },
);

it('a model that gives no scores is refused when it is opened, and let go', async () => {
  await expect(openRewardModel({ model: 'abacus', adapter: null, weight: 1 }, from)).rejects.toMatchObject({
    message: expect.stringContaining('no scalar head'),
    details: { path: 'rewardModel' },
  });
});
