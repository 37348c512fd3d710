import type { Desktop } from '../../../shared/contract/desktop';

declare global {
  interface Window {
    /** Only in the desktop app: what preload offers beside the port. */
    atelier?: Desktop;
  }
}

/** The desktop's few verbs, or undefined on the web host. */
export const desktop: Desktop | undefined = window.atelier;
