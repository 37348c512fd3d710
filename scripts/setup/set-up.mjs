import { withLock } from './lock.mjs';
import { checkPrerequisites } from './prerequisites.mjs';
import { buildNative } from './native.mjs';
import { dropPartialUnpackings } from './wheels.mjs';

/** Does what is missing of `needs` for a device; safe to repeat and to interrupt at any place. */
export async function setUp(device, needs) {
  if (needs.length === 0) return;
  const tools = checkPrerequisites();
  await withLock(async () => {
    dropPartialUnpackings();
    if (needs.includes('native')) await buildNative(device, tools);
  });
}
