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
