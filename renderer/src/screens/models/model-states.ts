export const modelStates = {
  ready: { tone: 'done', label: 'Ready' },
  offline: { tone: 'warning', label: 'Offline' },
  unsupported: { tone: 'bad', label: 'Unsupported' },
} as const;
