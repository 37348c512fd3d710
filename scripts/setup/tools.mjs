// Wheels that a check wants beyond the set-up.
import { withLock } from './lock.mjs';
import { unpackWheel } from './wheels.mjs';

/** Under the lock: a set-up that began meanwhile would take the half-unpacked folder for a dead process's. */
export const fetchTool = (requirement, options) => withLock(() => unpackWheel(requirement, options));
