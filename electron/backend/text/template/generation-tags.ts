/**
 * `{% generation %}` marks what an assistant wrote. JavaScript's Jinja drops the tag, so each becomes a pair of
 * private-use characters in the output, found again after rendering. The tag's own whitespace control stays.
 */
export const spanOpen = '\u{F8F0}';
export const spanClose = '\u{F8F1}';

const tag = /\{%([-+]?)\s*(end)?generation\s*([-+]?)%\}/g;

export function markGeneration(template: string): { source: string; marked: boolean } {
  let marked = false;
  const source = template.replace(tag, (_all, left: string, end: string | undefined, right: string) => {
    marked = true;
    return `{%${left} if true %}{{ "${end ? spanClose : spanOpen}" }}{% endif ${right}%}`;
  });
  return { source, marked };
}

export interface Span {
  /** Offsets in the text, UTF-16 units, [start, end). */
  start: number;
  end: number;
}

/** Takes the marks out of rendered text. */
export function takeSpans(rendered: string): { text: string; spans: Span[] } {
  const spans: Span[] = [];
  let text = '';
  let open: number | null = null;
  for (const part of rendered.split(/([\u{F8F0}\u{F8F1}])/u)) {
    if (part === spanOpen) open = text.length;
    else if (part === spanClose) {
      if (open !== null) spans.push({ start: open, end: text.length });
      open = null;
    } else text += part;
  }
  return { text, spans };
}
