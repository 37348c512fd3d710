// Vitest's global set-up: the commands, threads and processes that tests start are bundles, made from today's sources.
export { buildBundles as setup } from './setup/bundles.mjs';
