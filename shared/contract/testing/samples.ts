import type { z } from 'zod';
import type { Call, Stream } from '../../rpc/verb';
import { contract, type AtelierContract } from '../index';
import {
  at,
  chosenFit,
  config,
  dataset,
  model,
  own,
  reward,
  rollout,
  scored,
  summary,
  triedFit,
} from './records';

type Samples = {
  [D in keyof AtelierContract]: {
    [V in keyof AtelierContract[D]]: AtelierContract[D][V] extends Call<infer I, infer O>
      ? { input: z.input<I>; output: z.input<O> }
      : AtelierContract[D][V] extends Stream<infer I, infer O>
        ? { input: z.input<I>; items: z.input<O>[] }
        : never;
  };
};

/** A valid request and answer of every verb, for tests of the wire and of screens. */
export const samples: Samples = {
  algorithms: {
    list: { input: {}, output: [own] },
    source: { input: { key: 'grpo' }, output: { code: 'export const grpo = {};' } },
    save: { input: { name: 'Mine', code: own.code }, output: own },
    remove: { input: { key: own.key }, output: {} },
    check: {
      input: { code: own.code },
      output: {
        problems: [{ line: 1, column: 2, message: 'no' }],
        types: true,
        info: own.info,
        trial: { loss: 0.1, gradientNorm: 2, splitDifference: null },
      },
    },
  },
  runs: {
    list: { input: {}, output: [summary] },
    get: {
      input: { id: summary.id },
      output: {
        ...summary,
        config,
        own: null,
        rewards: [{ name: 'sums', language: 'typescript', code: reward.code, weight: 1, params: {} }],
        folder: '~/runs/x',
        provenance: { mlx: '0.32.4' },
        exports: [{ path: '~/runs/x/exports/1', checkpoint: 80, at, verified: true }],
      },
    },
    estimate: {
      input: config,
      output: {
        memory: { weights: 6, adapter: 1, optimizer: 2, others: 5, cache: 3, activations: 4, total: 21 },
        availableBytes: 2 ** 33,
        devices: 2,
        secondsPerStep: 1.2,
        totalSeconds: 96,
        diskBytes: 1000,
        rollouts: 5120,
        problems: [{ level: 'error', path: 'params.groupSize', message: 'at least 2' }],
      },
    },
    fit: { input: config, output: chosenFit },
    tune: {
      input: config,
      items: [
        { kind: 'chosen', chosen: chosenFit },
        { kind: 'tried', tried: { ...triedFit, measured: null } },
        { kind: 'tried', tried: triedFit },
        { kind: 'best', best: triedFit },
      ],
    },
    start: { input: config, output: { id: summary.id, queued: false } },
    follow: {
      input: { id: summary.id, after: 4 },
      items: [
        { kind: 'state', seq: 5, at, status: 'running' },
        { kind: 'step', seq: 6, at, step: 1, metrics: { 'reward/mean': 0.3, 'policy/kl': Number.NaN } },
        { kind: 'event', seq: 7, at, step: 1, level: 'warning', code: 'zero_variance', message: 'half' },
        { kind: 'evaluation', seq: 8, at, step: 0, metrics: { 'held_out/sampled': 0.36 } },
        { kind: 'checkpoint', seq: 9, at, step: 1, bytes: 99 },
        {
          kind: 'timeline',
          seq: 10,
          at,
          step: 1,
          began: at - 0.25,
          length: 1_500_000,
          spans: [{ lane: 'engine', phase: 'rollout', start: 120, end: 900_000, busy: 899_000 }],
        },
        { kind: 'live' },
        {
          kind: 'progress',
          phase: 'rollout',
          step: 2,
          steps: 80,
          done: 12,
          total: 64,
          tokensPerSecond: 900.5,
          etaSeconds: null,
        },
      ],
    },
    pause: { input: { id: summary.id }, output: {} },
    resume: { input: { id: summary.id }, output: {} },
    stop: { input: { id: summary.id }, output: {} },
    remove: { input: { id: summary.id }, output: {} },
    rename: { input: { id: summary.id, name: 'Carried' }, output: {} },
    rollouts: {
      input: { id: summary.id, step: 2, sort: 'reward' },
      output: { total: 1, rollouts: [rollout] },
    },
    groups: {
      input: { id: summary.id },
      output: {
        total: 1,
        groups: [
          { step: 2, group: 1, prompt: '47 + 38', size: 8, rewardMean: 0.5, rewardMin: 0, rewardMax: 1 },
        ],
      },
    },
    tokens: {
      input: { id: summary.id, rollout: 17 },
      output: {
        ids: Int32Array.of(5, -1, 2 ** 31 - 1),
        pieces: ['8', '5', '<end>'],
        logp: Float32Array.of(-0.25, Number.NaN, -Infinity),
      },
    },
    checkpoints: { input: { id: summary.id }, output: [{ step: 20, bytes: 99, at, reward: null }] },
    exportForms: {
      input: { id: summary.id },
      output: [
        { kind: 'adapter', refused: null },
        { kind: 'gguf', refused: { message: 'No.', hint: 'Merge.' } },
      ],
    },
    trace: {
      input: { id: summary.id, path: '/tmp/trace.json' },
      output: { path: '/tmp/trace.json', bytes: 900, steps: 3 },
    },
    export: {
      input: { id: summary.id, as: { kind: 'gguf', type: 'q8_0' } },
      items: [
        { kind: 'progress', phase: 'writing', done: 0, total: 3 },
        {
          kind: 'done',
          path: '~/runs/x/exports/1',
          files: [{ name: 'adapter_model.safetensors', bytes: 99 }],
          compared: 'logits',
          maxDifferenceLive: 0,
          maxDifferenceBase: 3.5,
          meanKl: 0,
          topAgreement: 1,
          verified: true,
        },
      ],
    },
    yaml: { input: config, output: { yaml: 'name: Carry the one\n' } },
  },
  models: {
    list: { input: {}, output: [model] },
    add: { input: { path: '/models/x' }, output: model },
    remove: { input: { id: 'abacus' }, output: {} },
    adapters: {
      input: {},
      output: [
        {
          run: summary.id,
          runName: 'Carry the one',
          checkpoint: 80,
          model: 'abacus',
          scalarHead: false,
          step: 80,
          reward: 0.9,
          bytes: 99,
          holds: 'adapter',
          createdAt: at,
        },
      ],
    },
    roots: { input: {}, output: ['/models'] },
    browse: {
      input: { path: '/models' },
      output: {
        path: '/models',
        parent: null,
        entries: [{ name: 'x', path: '/models/x', kind: 'folder', bytes: null, looksLike: 'model' }],
      },
    },
  },
  datasets: {
    list: { input: {}, output: [dataset] },
    add: { input: { path: '/data/sums.jsonl' }, output: dataset },
    remove: { input: { id: 'sums' }, output: {} },
    setMapping: { input: { id: 'sums', mapping: { prompt: 'prompt' } }, output: dataset },
    rows: {
      input: { id: 'sums', offset: 0, limit: 10 },
      output: { total: 1, rows: [{ line: 1, row: { prompt: '47 + 38', nested: { a: [1, null, 'x'] } } }] },
    },
    preview: {
      input: { id: 'sums', model: 'abacus', mapping: { prompt: 'prompt' }, algorithm: 'grpo' },
      output: {
        total: 1,
        rows: [
          {
            line: 1,
            pieces: ['4', '7'],
            ids: Int32Array.of(4, 7),
            lossMask: Uint8Array.of(0, 1),
            truncated: false,
          },
        ],
      },
    },
    uploadBegin: { input: { name: 'sums.jsonl', bytes: 3 }, output: { upload: 'u1' } },
    uploadChunk: {
      input: { upload: 'u1', offset: 0, data: Uint8Array.of(0, 128, 255) },
      output: { received: 3 },
    },
    lookUp: {
      input: { reference: 'openai/gsm8k:main' },
      output: {
        repo: 'openai/gsm8k',
        commit: 'a'.repeat(40),
        configs: [{ name: 'main', splits: [{ name: 'train', files: 1, bytes: 4_000_000, partial: false }] }],
        freeBytes: 9e10,
      },
    },
    fetch: {
      input: { reference: 'openai/gsm8k:main:train' },
      items: [
        { kind: 'progress', done: 1000, total: 4_000_000 },
        { kind: 'done', datasets: [dataset] },
      ],
    },
    statistics: {
      input: { id: 'sums', model: 'abacus', mapping: {}, algorithm: 'sft', maxLength: 512 },
      items: [
        { kind: 'progress', done: 1, total: 2 },
        {
          kind: 'done',
          statistics: {
            looked: 2,
            total: 2,
            used: 1,
            left: [{ reason: 'empty', count: 1, line: 2, message: '"prompt" is empty' }],
            lengths: { mean: 9, longest: 9, width: 1, counts: [0, 1] },
          },
        },
      ],
    },
    uploadEnd: { input: { upload: 'u1' }, output: dataset },
  },
  rewards: {
    list: { input: {}, output: [reward] },
    save: { input: { name: 'Sums', code: reward.code }, output: { ...reward, source: 'user' } },
    remove: { input: { id: 'sums' }, output: {} },
    access: {
      input: { language: 'judge', code: '---' },
      output: { kind: 'judge', address: 'https://judge.example', model: 'm', allowed: false, hasKey: true },
    },
    allow: { input: { language: 'python', code: 'x', allowed: true }, output: {} },
    setKey: { input: { address: 'https://judge.example', key: null }, output: {} },
    check: {
      input: { code: 'x' },
      output: { problems: [{ line: 1, column: 1, message: 'no default' }], params: [] },
    },
    test: {
      input: { code: 'x', model: 'abacus', dataset: 'sums', mapping: {} },
      items: [
        { kind: 'progress', phase: 'generating', done: 1, total: 16 },
        { kind: 'samples', samples: [scored] },
      ],
    },
    score: {
      input: {
        code: 'x',
        dataset: 'sums',
        mapping: {},
        samples: [{ line: 1, prompt: '47 + 38', completion: '85' }],
      },
      output: [{ reward: 1, status: 'ok', milliseconds: 0.4 }],
    },
  },
  chat: {
    say: {
      input: {
        model: 'abacus',
        adapter: { run: summary.id },
        messages: [{ role: 'user', content: '47 + 38' }],
      },
      items: [
        { kind: 'loading' },
        { kind: 'text', text: '85' },
        { kind: 'done', finish: 'stop', tokens: 3, promptTokens: 9, tokensPerSecond: 500 },
      ],
    },
  },
  system: {
    info: {
      input: {},
      output: {
        version: '0.1.0',
        commit: 'abc',
        host: 'web',
        platform: 'linux-x64',
        mlx: '0.32.4',
        device: 'cpu',
        devices: [
          {
            device: 'cpu',
            available: true,
            description: 'CPU, 2 threads',
            memoryBytes: 2 ** 34,
            units: [{ description: 'CPU, 2 threads', memoryBytes: 2 ** 34 }],
          },
        ],
        workingOn: [0, 1],
        folder: '~/.local/share/atelier',
      },
    },
    follow: {
      input: {},
      items: [
        {
          engine: 'busy',
          memory: { engineBytes: 1, peakBytes: 2, limitBytes: 3, freeBytes: 4, totalBytes: 5 },
          diskFreeBytes: 6,
          activeRun: {
            id: summary.id,
            name: 'Carry the one',
            step: 3,
            steps: 80,
            status: 'running',
            etaSeconds: 60,
          },
          queued: 0,
        },
      ],
    },
    checks: { input: {}, output: [{ id: 'disk', label: 'Disk', state: 'ok', detail: '20 GB free' }] },
    settings: {
      input: {},
      output: { memoryLimitBytes: null, storeTokens: true, keepCheckpoints: 2, devices: null },
    },
    saveSettings: { input: { keepCheckpoints: 3, devices: [0, 1] }, output: {} },
    diagnostics: { input: {}, output: { text: 'Atelier 0.1.0' } },
  },
};

/** Every verb once, as `domain.verb` with its sample. */
export function everyVerb() {
  return Object.entries(contract).flatMap(([domain, verbs]) =>
    Object.entries(verbs).map(([name, verb]) => ({
      domain,
      name,
      verb,
      sample: (samples as Record<string, Record<string, unknown>>)[domain]![name] as {
        input: unknown;
        output?: unknown;
        items?: unknown[];
      },
    })),
  );
}
