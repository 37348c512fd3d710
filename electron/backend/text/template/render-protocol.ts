/** One template over many contexts: a message for each of them would cost more than its rendering. */
export interface RenderBatch {
  source: string;
  contexts: Record<string, unknown>[];
  /** Milliseconds since 1970 that the template's clock shows; default: now. */
  now?: number;
  maxOutput: number;
}

/** The host answers in order, some contexts at a time. */
export type RenderAnswer = { text: string } | { error: string };

/** The host tells what it has done this often, so that each context has the budget's time to itself. */
export const REPORT_EVERY_MS = 100;
