export const deviceNames = { cpu: 'CPU', cuda: 'CUDA', metal: 'Metal' } as const;
