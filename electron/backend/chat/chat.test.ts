import { beforeEach, expect, it } from 'vitest';
import type { EngineModule, GenerateRequest } from '../../../native/face';
import { chat } from '../../../shared/contract/chat';
import { AtelierError } from '../../../shared/rpc';
import { EngineHost } from '../system';
import { ModelText } from '../text';
import { fixturePath } from '../text/testing';
import { scriptedEngine, scriptedModel, type ScriptedEngine } from '../testing/scripted-engine';
import { chatVerbs } from './chat';

let engine: ScriptedEngine;
let asked: GenerateRequest[];
let text: ModelText;
let say: ReturnType<typeof chatVerbs>['say'];
let reply: number[];
let unloaded: number;
let endless: boolean;

beforeEach(async () => {
  text = await ModelText.fromFolder(fixturePath('tokenizers/tiny_bpe'));
  engine = scriptedEngine();
  asked = [];
  unloaded = 0;
  endless = false;
  reply = await text.tokenizer.encode('Grüße, 世界!');
  engine.generate = async (request, hooks) => {
    asked.push(request);
    const ids: number[] = [];
    // an answer without end goes on until it is cancelled
    const end = endless ? Infinity : reply.length;
    for (let k = 0; k < end; k++) {
      const id = reply[k % reply.length]!;
      if (hooks?.signal?.aborted) break;
      ids.push(id);
      hooks?.onProgress?.({ row: Int32Array.of(0), id: Int32Array.of(id), finished: 0 });
      await new Promise((resolve) => setImmediate(resolve));
    }
    const finish = hooks?.signal?.aborted ? 'cancelled' : 'stop';
    const logprob = new Float32Array(ids.length);
    return {
      rows: [{ prompt: 0, ids: Int32Array.from(ids), logprob, rawLogprob: logprob, finish }],
      seconds: 1,
      tokens: ids.length,
      heldBytes: 0,
    };
  };
  engine.loadAdapter = async () => ({
    id: (100 + asked.length) as never,
    model: 1 as never,
    parameters: 1,
    modules: [],
    saved: [],
    scalarHead: false,
  });
  engine.unloadAdapter = async () => void unloaded++;
  const module = { createEngine: () => engine } as unknown as EngineModule;
  const engineHost = new EngineHost('cpu', () => module);
  const verbs = chatVerbs({
    engineHost,
    model: async (id) => ({
      id,
      name: 'Tiny',
      path: '/tiny',
      bytes: 1,
      contextLength: 64,
      scalarHead: false,
      text,
    }),
    requireWriter: () => undefined,
    taught: async ({ run, checkpoint: step }) => {
      if (run === 'none') throw new AtelierError('not_found', 'The run has no checkpoint yet.');
      const folder = `/runs/${run}/${step ?? 'newest'}`;
      return run === 'whole' ? { kind: 'model', folder } : { kind: 'adapter', folder, weights: 'stored' };
    },
  });
  say = verbs.say;
});

const input = (more: object = {}) =>
  chat.say.input.parse({
    model: 'tiny',
    adapter: null,
    messages: [{ role: 'user', content: 'Hello' }],
    seed: 5,
    ...more,
  });
async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
const signal = new AbortController().signal;

it('streams text without half characters and without control tokens', async () => {
  reply = [...reply, text.stopIds[0]!];
  const items = await collect(say(input(), { signal }));
  const pieces = items.flatMap((item) => (item.kind === 'text' ? [item.text] : []));
  expect(pieces.length).toBeGreaterThan(1);
  expect(pieces.join('')).toBe('Grüße, 世界!');
  expect(pieces.join('|')).not.toContain('\ufffd');
  expect(items[0]).toEqual({ kind: 'loading' });
  expect(items.at(-1)).toMatchObject({ kind: 'done', finish: 'stop', tokens: reply.length });
});

it('asks for the sampling that was set, and for none that was not', async () => {
  const set = { topK: 40, repetitionPenalty: 1.1, noRepeatNgram: 3, logitBias: { '7': -100 } };
  await collect(say(input(set), { signal }));
  expect(asked[0]).toMatchObject({ ...set, temperature: 0.7, topP: 1, presencePenalty: 0, minNewTokens: 0 });
});

it('asks for no more than the model has room for', async () => {
  const items = await collect(say(input(), { signal }));
  const { promptTokens } = items.at(-1) as { promptTokens: number };
  expect(asked[0]!.maxNewTokens).toBe(64 - promptTokens);
  const long = [{ role: 'user' as const, content: 'word '.repeat(200) }];
  await expect(collect(say(input({ messages: long }), { signal }))).rejects.toMatchObject({
    code: 'invalid_input',
    details: { path: 'messages' },
  });
});

it('ends the generation when its reader leaves', async () => {
  endless = true;
  const control = new AbortController();
  let count = 0;
  let finish = '';
  for await (const item of say(input(), { signal: control.signal })) {
    if (item.kind === 'text' && ++count === 3) control.abort();
    if (item.kind === 'done') finish = item.finish;
  }
  expect(finish).toBe('cancelled');
});

it('reads no further than its reader does, though more has been said', async () => {
  const control = new AbortController();
  let speak = () => undefined as void;
  engine.generate = async (_request, hooks) => {
    speak = () => {
      for (const id of reply)
        hooks?.onProgress?.({ row: Int32Array.of(0), id: Int32Array.of(id), finished: 0 });
    };
    speak();
    await new Promise((resolve) => control.signal.addEventListener('abort', resolve));
    const ids = Int32Array.from(reply);
    const logprob = new Float32Array(ids.length);
    return {
      rows: [{ prompt: 0, ids, logprob, rawLogprob: logprob, finish: 'cancelled' }],
      seconds: 1,
      tokens: ids.length,
      heldBytes: 0,
    };
  };
  const items: string[] = [];
  for await (const item of say(input(), { signal: control.signal })) {
    items.push(item.kind);
    if (item.kind !== 'text') continue;
    speak();
    control.abort();
  }
  expect(items).toEqual(['loading', 'text', 'done']);
});

it('answers with the adapter of a checkpoint, a few of which stay loaded', async () => {
  for (let step = 1; step <= 6; step++) {
    await collect(say(input({ adapter: { run: 'r', checkpoint: step } }), { signal }));
  }
  await collect(say(input({ adapter: { run: 'r', checkpoint: 6 } }), { signal }));
  expect(asked.at(-1)!.adapter).toBe(asked.at(-2)!.adapter);
  expect(new Set(asked.map((request) => request.adapter)).size).toBe(6);
  expect(unloaded).toBe(2);
  const paths: string[] = [];
  engine.loadModel = async (path) => {
    paths.push(path);
    return { ...scriptedModel, id: 7 as never };
  };
  await collect(say(input({ adapter: { run: 'whole' } }), { signal }));
  expect(paths).toEqual(['/runs/whole/newest']);
  expect(asked.at(-1)).toMatchObject({ model: 7, adapter: null });
  await expect(collect(say(input({ adapter: { run: 'none' } }), { signal }))).rejects.toMatchObject({
    code: 'not_found',
  });
});
