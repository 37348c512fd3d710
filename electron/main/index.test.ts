import { expect, it, vi } from 'vitest';
import * as fake from '../testing/fake-electron';

vi.mock('electron', () => import('../testing/fake-electron'));

it('ends before Electron is ready, with all done that must come first: Electron waits for it', async () => {
  await import('./index');
  expect(fake.app.isReady()).toBe(false);
  expect(fake.app.sandboxed).toBe(true);
  expect(fake.protocol.schemes.map(({ scheme }) => scheme)).toEqual(['app']);
});
