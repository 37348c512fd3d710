import type { Page } from '@playwright/test';
import type { Scenario } from '../fixture/handlers';

export interface ScreenCase {
  name: string;
  path: string;
  /** Text that shows once the screen is there, by state; a state without one is not visited. */
  shows: Partial<Record<Scenario, string | RegExp>>;
  /** What to do before looking, in the full state. */
  act?: (page: Page) => Promise<void>;
}

/** What the failing fixture says. */
export const broken = 'ENOSPC: no space left on device';
