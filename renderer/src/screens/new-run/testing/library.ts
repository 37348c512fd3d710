import type { Dataset, Model } from '../../../data/library';

export const modelsSample: Model[] = [
  {
    id: 'adder',
    name: 'Adder',
    source: 'bundled',
    format: 'safetensors',
    path: 'models/adder',
    state: 'ready',
    family: 'qwen3',
    parameters: 1e6,
    bytes: 2e6,
    contextLength: 256,
    vocabularySize: 512,
    hiddenSize: 128,
    layers: 4,
    scalarHead: false,
    hasChatTemplate: true,
    addedAt: 0,
  },
];

const dataset = (id: string, part: Partial<Dataset>): Dataset => ({
  id,
  name: id,
  source: 'bundled',
  path: `datasets/${id}.jsonl`,
  format: 'jsonl',
  files: 1,
  split: null,
  reference: null,
  state: 'ready',
  rows: 100,
  indexing: null,
  bytes: 1000,
  columns: [{ name: 'prompt', type: 'string', filled: 1, sample: '1 + 1' }],
  type: 'prompt-only',
  mapping: { prompt: 'prompt' },
  mappedBy: 'guess',
  fits: ['rollouts'],
  problems: { count: 0, first: [] },
  notes: [],
  heldOut: null,
  suggestedReward: null,
  addedAt: 0,
  ...part,
});

export const datasetsSample: Dataset[] = [
  dataset('answers', {
    type: 'prompt-completion',
    mapping: { prompt: 'prompt', completion: 'answer' },
    fits: ['examples'],
  }),
  dataset('sums', { heldOut: 'sums-held-out', suggestedReward: 'right-sum' }),
  dataset('sums-held-out', {}),
];
