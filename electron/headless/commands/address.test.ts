import { rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openLocal } from '../local';
import { temporaryHome, Visitor } from '../testing';
import { addressCommand } from './address';

let home: string;
beforeEach(() => {
  home = temporaryHome();
});
afterEach(() => rmSync(home, { recursive: true }));

async function address(): Promise<string> {
  let out = '';
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += String(text);
    return true;
  });
  try {
    await addressCommand.run(['--home', home]);
    return out.trim();
  } finally {
    stdout.mockRestore();
  }
}

it('lets another window in, once for each address', async () => {
  const local = await openLocal({ home, device: 'cpu', port: 0 });
  try {
    const another = await address();
    expect(new URL(another).origin).toBe(new URL(local.address!).origin);
    const client = await (await Visitor.open(another)).connect();
    expect((await client.system.info({})).folder).toBe(home);
    await expect(Visitor.open(another)).rejects.toThrow('session: 403');
    // the printed one is still good
    await Visitor.open(local.address!);
  } finally {
    await local.close();
  }
}, 60_000);

it('says so where no page is served, also when another command works on the folder', async () => {
  await expect(address()).rejects.toMatchObject({ message: expect.stringContaining('No page is served') });
  const local = await openLocal({ home, device: 'cpu' });
  await expect(address()).rejects.toMatchObject({ hint: expect.stringContaining('serve') });
  await local.close();
}, 60_000);
