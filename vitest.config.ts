import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

const common = { testTimeout: 30_000, hookTimeout: 60_000, unstubEnvs: true };

/** What compares times. */
const measures = 'electron/headless/estimate.test.ts';

export default defineConfig({
  test: {
    // The addon owns a thread and OpenBLAS owns the cores: a process a file, two at a time.
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      {
        test: {
          ...common,
          name: 'node',
          environment: 'node',
          globalSetup: ['scripts/test-bundles.mjs'],
          include: ['{shared,electron,native,scripts,conformance,bench,resources,test}/**/*.test.ts'],
          exclude: ['**/node_modules/**', 'test/{real,peft}/**', measures],
        },
      },
      {
        test: {
          ...common,
          name: 'measures',
          environment: 'node',
          globalSetup: ['scripts/test-bundles.mjs'],
          include: [measures],
          // after the others, when the machine is its own
          sequence: { groupOrder: 1 },
        },
      },
      {
        plugins: [react()],
        test: {
          ...common,
          name: 'page',
          environment: 'jsdom',
          include: ['renderer/**/*.test.{ts,tsx}'],
        },
      },
    ],
  },
});
