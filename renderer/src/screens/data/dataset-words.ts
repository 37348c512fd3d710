import type { LeftOut } from '../../../../shared/contract/datasets';
import type { Dataset } from '../../data/library';

export const datasetStates = {
  ready: { tone: 'done', label: 'Ready' },
  offline: { tone: 'warning', label: 'Offline' },
  invalid: { tone: 'bad', label: 'Invalid' },
} as const;

export const typeNames = {
  messages: 'Conversations',
  sharegpt: 'Conversations (ShareGPT)',
  alpaca: 'Instructions (Alpaca)',
  'prompt-completion': 'Prompt and answer',
  'prompt-only': 'Prompts',
  preference: 'Pairs of answers',
  'unpaired-preference': 'Rated answers',
  text: 'Text',
  unknown: 'Not recognised',
} as const;

/** The algorithm that a kind of data is first shown for. */
const starts: Partial<Record<Dataset['type'], string>> = {
  'prompt-only': 'grpo',
  preference: 'dpo',
  'unpaired-preference': 'kto',
};
export const startFor = ({ type }: Dataset): string => starts[type] ?? 'sft';

export const reasonNames: Record<LeftOut['reason'], string> = {
  unreadable: 'Cannot be read',
  missing: 'Without a value',
  empty: 'Empty',
  'too-long': 'Too long',
  duplicate: 'Duplicates',
  'same-answers': 'Two equal answers',
  other: 'Other reasons',
};

export const kindNames = {
  rollouts: 'rewards',
  examples: 'answers to learn',
  pairs: 'pairs of answers',
  rated: 'rated answers',
} as const;
