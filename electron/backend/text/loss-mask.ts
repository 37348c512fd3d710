import { AtelierError } from '../../../shared/rpc/errors';
import type { EncodedText } from './tokenizer';
import type { Span } from './template/generation-tags';

/** How many ids two sequences share from the start. */
export function commonPrefix(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let count = 0;
  while (count < a.length && count < b.length && a[count] === b[count]) count++;
  return count;
}

/** 1 on every token that has part of a span. Spans count UTF-16 units of `text`, offsets code points. */
export function maskOfSpans(text: string, encoded: EncodedText, spans: readonly Span[]): Uint8Array {
  const mask = new Uint8Array(encoded.ids.length);
  for (const span of spans) {
    const start = codePoints(text, span.start);
    const end = codePoints(text, span.end);
    encoded.offsets.forEach(([from = 0, to = 0], index) => {
      if (from < end && to > start) mask[index] = 1;
    });
  }
  return mask;
}

/** Ends each run of 1s at its last turn-end token: what a template writes after it is not the model's to learn. */
export function endAtTurnEnds(
  mask: Uint8Array,
  ids: readonly number[],
  turnEnds: ReadonlySet<number>,
): Uint8Array {
  const ended = mask.slice();
  for (let start = 0; start < ended.length; start++) {
    if (!ended[start]) continue;
    let stop = start;
    while (stop < ended.length && ended[stop]) stop++;
    let last = stop - 1;
    while (last >= start && !turnEnds.has(ids[last]!)) last--;
    if (last >= start) ended.fill(0, last + 1, stop);
    start = stop;
  }
  return ended;
}

export interface TurnPrefix {
  /** Text and ids of everything before the answer, the words that open it included. */
  text: string;
  ids: readonly number[];
}

/**
 * Where an answer starts in the whole conversation: after the tokens that it shares with its own prompt, never
 * by counting. One token may straddle the border (then it belongs to the answer).
 */
export function answerStart(whole: TurnPrefix, prompt: TurnPrefix): number {
  const start = commonPrefix(prompt.ids, whole.ids);
  if (whole.text.startsWith(prompt.text) && start >= prompt.ids.length - 1) return start;
  throw new AtelierError(
    'template_failed',
    'The chat template writes a conversation differently once an answer follows, so what the model would have ' +
      'written cannot be told apart from its prompt.',
    'Use rows that end with the first answer, or a template with {% generation %} marks.',
  );
}

function codePoints(text: string, end: number): number {
  let count = 0;
  for (let index = 0; index < end; count++) index += text.codePointAt(index)! > 0xffff ? 2 : 1;
  return count;
}
