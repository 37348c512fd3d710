import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { goldenText } from '../../shared/program/testing/op-cases';
import { compareFile, reference } from './compare';
import { LOSS_FILES } from './index';

const folder = new URL('../fixtures/losses/', import.meta.url);

describe('losses of published libraries', () => {
  it('has a reader for every file', () => {
    // packing is the engine's: conformance/items/packing.ts reads that file
    const files = readdirSync(folder).filter((name) => name !== 'sft_packing.json');
    expect(Object.keys(LOSS_FILES).sort()).toEqual(files.sort());
  });

  // Expected values have 9 digits; a few were made through f32 inside the library.
  it.each(Object.keys(LOSS_FILES))('%s: value, gradients and metrics', async (name) => {
    const file = LOSS_FILES[name](JSON.parse(readFileSync(new URL(name, folder), 'utf8')));
    const { failures, compared } = await compareFile(file, reference, 1e-6);
    expect(failures).toEqual([]);
    if (file.waiting.length === 0) expect(compared).toBeGreaterThan(0);
  });
});

describe('golden values for the native evaluator', () => {
  it('are what the reference evaluator gives (else: npx tsx conformance/golden/write.ts)', () => {
    expect(readFileSync(new URL('../golden/program_ops.json', import.meta.url), 'utf8')).toBe(goldenText());
  });
});
