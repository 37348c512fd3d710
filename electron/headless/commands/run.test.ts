import { expect, it } from 'vitest';
import { chooseDevice, dataFolder } from '../../backend/system';
import { resumeCommand } from './run';

it('a run goes on with the device that it had', () => {
  expect(resumeCommand('sums-abc234', dataFolder(), chooseDevice(undefined))).toMatch(
    /--resume sums-abc234$/,
  );
  expect(resumeCommand('sums-abc234', '/my data', 'cuda')).toMatch(
    /--resume sums-abc234 --device cuda --home "\/my data"$/,
  );
  expect(resumeCommand('sums-abc234', dataFolder(), 'cuda', [0, 3])).toMatch(/--device cuda --devices 0,3$/);
});
