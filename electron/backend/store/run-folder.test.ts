import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RunConfig } from '../../../shared/contract/runs';
import { files } from './files';
import { createRunFolder, readRecord, type RunRecord } from './run-folder';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'atelier-home-'));
});
afterEach(() => rmSync(home, { recursive: true }));

const record: RunRecord = {
  format: 2,
  id: 'sums-abc234',
  name: 'Sums',
  createdAt: 1,
  modelName: 'Abacus',
  steps: 3,
  headline: 'reward/mean',
  rewards: [{ name: 'one', language: 'typescript', code: 'export default () => 1;', weight: 1, params: {} }],
  own: null,
  provenance: {},
  config: RunConfig.parse({ name: 'Sums', algorithm: 'grpo', model: 'abacus', data: { dataset: 'sums' } }),
};

describe('a run folder', () => {
  it('is written and read back', async () => {
    await createRunFolder(home, record);
    expect(await readRecord(join(home, 'runs', record.id))).toEqual(record);
  });

  it('of format 1, with one reward, is read as a newer one', async () => {
    await createRunFolder(home, record);
    const folder = join(home, 'runs', record.id);
    const { rewards, config, ...rest } = record;
    const { rewards: _, ...before } = config;
    const old = (reward: unknown, rewardCode: string | null) =>
      JSON.stringify({ ...rest, format: 1, rewardCode, config: { ...before, format: 1, reward } });
    writeFileSync(join(folder, 'run.json'), old({ id: 'sums' }, 'export default () => 2;'));
    expect(await readRecord(folder)).toMatchObject({
      format: 2,
      rewards: [{ ...rewards[0], name: 'reward', code: 'export default () => 2;' }],
      config: { format: 2, rewards: [{ id: 'sums', weight: 1, params: {} }] },
    });
    writeFileSync(join(folder, 'run.json'), old(null, null));
    expect(await readRecord(folder)).toMatchObject({ rewards: [], config: { rewards: [] } });
  });

  it('on a disk with no room is refused with the place and the bytes', async () => {
    const using = { ...files, freeBytes: async () => 1_000_000 };
    await expect(createRunFolder(home, record, using)).rejects.toMatchObject({
      code: 'disk_full',
      message: `A run needs 2 MB in ${join(home, 'runs')}; the disk has 1 MB left and 68 MB stay reserved.`,
    });
    expect(readdirSync(join(home, 'runs'))).toEqual([]);
  });

  it('that fills the disk while it is written leaves nothing', async () => {
    const using = {
      ...files,
      write: async (path: string, text: string) => {
        if (path.includes('run.json'))
          throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
        await files.write(path, text);
      },
    };
    const folder = join(home, 'runs', record.id);
    await expect(createRunFolder(home, record, using)).rejects.toMatchObject({
      code: 'disk_full',
      message: expect.stringContaining(folder),
    });
    expect(existsSync(folder)).toBe(false);
  });
});
