export const modelStates = {
  ready: { tone: 'done', label: 'Ready' },
  offline: { tone: 'warning', label: 'Offline' },
  unsupported: { tone: 'bad', label: 'Unsupported' },
} as const;

/** What a checkpoint holds. */
export const HOLDS = { adapter: 'an adapter', model: 'all parameters' } as const;
