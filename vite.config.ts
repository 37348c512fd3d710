import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  root: 'renderer',
  plugins: [react()],
  build: {
    outDir: '../dist/renderer',
    emptyOutDir: true,
    // The page's CSP allows no data: URL but for images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'chrome134',
    reportCompressedSize: false,
    chunkSizeWarningLimit: 600,
    rolldownOptions: {
      output: {
        // zod is told of the page's policy before any chunk makes a schema
        codeSplitting: { groups: [{ name: 'zod', test: /node_modules\/zod\/|src\/app\/zod-setup/ }] },
      },
    },
  },
});
