/**
 * Maths accuracy: 1 where the final answer is the row's answer, however it is written, 0 otherwise.
 *
 * The final answer is the last \boxed{…}, else what follows "answer is" or "answer:", else the last number. Numbers,
 * fractions, mixed numbers, powers, roots, percentages, LaTeX, terms with letters, lists, intervals and sets
 * are compared by value. Not understood, and compared as text: matrices, inequalities, integrals, functions other than
 * sin, cos, tan, ln, log and exp. A row without an answer is no opinion.
 */
export const params = {
  boxedOnly: {
    default: false,
    label: 'Only \\boxed',
    help: 'An answer that is not in a box is wrong, whatever it says.',
  },
};

export default function reward(
  { completion, answer }: { completion: string; answer: string | null },
  { boxedOnly }: { boxedOnly: boolean } = { boxedOnly: false },
): number | null {
  if (answer === null || answer.trim() === '') return null;
  const given = finalAnswer(completion, boxedOnly);
  return given !== null && isSame(given, boxed(answer) ?? answer) ? 1 : 0;
}

/** What the last \boxed{…} holds; null where there is none that ends. */
function boxed(text: string): string | null {
  for (let at = text.lastIndexOf('\\boxed'); at >= 0; at = at === 0 ? -1 : text.lastIndexOf('\\boxed', at - 1)) {
    const open = text.indexOf('{', at);
    if (open < 0) continue;
    for (let k = open, depth = 0; k < text.length; k++) {
      if (text[k] === '{') depth++;
      if (text[k] === '}' && --depth === 0) return text.slice(open + 1, k);
    }
  }
  return null;
}

const NUMBER = String.raw`-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?`;
const FINAL = new RegExp(String.raw`(?:answer\s*(?:is|:|=)|[Aa]nswer:?\*\*:?)\s*([^\n]+)`, 'gi');
const LAST = new RegExp(String.raw`\$([^$]+)\$|\\\((.+?)\\\)|(${NUMBER}(?:\s*/\s*\d+)?\s*%?)`, 'g');

function finalAnswer(completion: string, boxedOnly: boolean): string | null {
  const text = completion.replace(/^[\s\S]*<\/think>/, '');
  const box = boxed(text);
  if (box !== null || boxedOnly) return box;
  const said = [...text.matchAll(FINAL)].at(-1)?.[1];
  const found = [...(said ?? text).matchAll(LAST)];
  // "the answer is 3 apples": what is said of it may go on
  const one = said === undefined ? found.at(-1) : found[0];
  return one ? (one[1] ?? one[2] ?? one[3] ?? null) : (said ?? null);
}

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [tidy(given), tidy(wanted)];
  if (a === b) return a !== '';
  const [listA, listB] = [parts(a), parts(b)];
  if (listA && listB) return sameLists(listA, listB);
  if (listA || listB) return false;
  return sameValue(a, b);
}

/** LaTeX that changes how a value looks, not what it is. */
function tidy(text: string): string {
  return text
    .replace(/\\\$|[€£]/g, '')
    .replace(/\$|\\[()[\]]|\\left|\\right|\\[!,;: ]|\\displaystyle|~/g, ' ')
    .replace(/\\[dtc]frac/g, '\\frac')
    .replace(/\\(?:text|mathrm|textbf|mathbf|textit|mbox)\s*\{([^{}]*)\}/g, (_, inner: string) =>
      /\d/.test(inner) || /^\s*\w\s*$/.test(inner) ? inner : ' ',
    )
    .replace(/\^\s*\{?\s*\\circ\s*\}?|°|\\degree/g, '')
    .replace(/−/g, '-')
    .replace(/(\d),(?=\d{3}(?!\d))/g, '$1')
    .replace(/^\s*-?\d{1,3}(?: \d{3})+\s*$/, (grouped) => grouped.replace(/ /g, ''))
    .replace(/\\%/g, '%')
    .replace(/\\([{}])/g, (_, brace: string) => (brace === '{' ? '⟨' : '⟩'))
    .replace(/^\s*[a-zA-Z]\s*(?:=|\\in\b)\s*/, '')
    .replace(/(\d)\s*(?:dollars|cents|degrees|meters|metres|cm|km|kg|m|hours|minutes|seconds|units|apples|years|days)\.?\s*$/i, '$1')
    .replace(/[.\s]+$/, '')
    .trim();
}

interface List {
  open: string;
  close: string;
  items: string[];
}

/** "(1, 2)", "{1, 2}" or "1, 2"; null for one value. */
function parts(text: string): List | null {
  const wrapped = /^([([⟨])([\s\S]*)([)\]⟩])$/.exec(text);
  const inner = wrapped && balanced(wrapped[2]!) ? wrapped[2]! : text;
  const items: string[] = [];
  let depth = 0;
  let item = '';
  for (const letter of inner) {
    if ('([{⟨'.includes(letter)) depth++;
    if (')]}⟩'.includes(letter)) depth--;
    if ((letter === ',' || letter === ';') && depth === 0) {
      items.push(item.trim());
      item = '';
    } else item += letter;
  }
  items.push(item.trim());
  const isSet = wrapped?.[1] === '⟨' && inner !== text;
  if (items.length === 1 && !isSet) return null;
  return inner === text ? { open: '', close: '', items } : { open: wrapped![1]!, close: wrapped![3]!, items };
}

function balanced(text: string): boolean {
  let depth = 0;
  for (const letter of text) {
    if ('([{⟨'.includes(letter)) depth++;
    if (')]}⟩'.includes(letter) && --depth < 0) return false;
  }
  return depth === 0;
}

/** Sets and bare lists in any order; tuples and intervals in theirs, with their brackets. */
function sameLists(a: List, b: List): boolean {
  if (a.items.length !== b.items.length) return false;
  const ordered = ([list]: List[]) => list!.open === '(' || list!.open === '[';
  if (ordered([a]) || ordered([b])) {
    const brackets = a.open === b.open && a.close === b.close;
    return brackets && a.items.every((item, k) => sameValue(item, b.items[k]!));
  }
  const left = [...b.items];
  return a.items.every((item) => {
    const at = left.findIndex((other) => sameValue(item, other));
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}

/** Places at which terms with letters are compared. */
const POINTS = [0.7310585, 1.9241313, -2.3812927];

function sameValue(a: string, b: string): boolean {
  if (a.replace(/\s/g, '') === b.replace(/\s/g, '')) return true;
  const [x, y] = [valuesOf(a), valuesOf(b)];
  return x !== null && y !== null && x.some((one) => y.some((other) => close(one, other)));
}

/** Values that a text may mean, each at all points: 50 % is 50 as well as 0.5. */
function valuesOf(text: string): number[][] | null {
  try {
    const percent = /^(.*)%$/.exec(text.trim())?.[1];
    const at = (scale: number) => POINTS.map((x) => new Reader(percent ?? text, x).all() * scale);
    return percent === undefined ? [at(1)] : [at(1), at(0.01)];
  } catch {
    return null;
  }
}

/** Equal when rounded to six places, as math-verify compares, or as close as doubles are. */
function close(a: number[], b: number[]): boolean {
  return a.every((x, k) => {
    const y = b[k]!;
    if (!Number.isFinite(x) || !Number.isFinite(y)) return false;
    return Math.abs(x - y) <= 5e-7 || Math.abs(x - y) <= 1e-12 * Math.max(Math.abs(x), Math.abs(y));
  });
}

const FUNCTIONS: Record<string, (x: number) => number> = {
  sqrt: Math.sqrt,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  ln: Math.log,
  log: Math.log10,
  exp: Math.exp,
};

/** Reads a term from left to right: sums of products of powers. @throws Error where it is none */
class Reader {
  #at = 0;
  readonly #text: string;

  constructor(
    text: string,
    private readonly x: number,
  ) {
    this.#text = text.replace(/⟨/g, '(').replace(/⟩/g, ')');
  }

  all(): number {
    const value = this.#sum();
    if (this.#peek() !== '') throw new Error('more');
    return value;
  }

  #peek(): string {
    while (this.#text[this.#at] === ' ') this.#at++;
    return this.#text[this.#at] ?? '';
  }

  #take(wanted: string): boolean {
    this.#peek();
    if (!this.#text.startsWith(wanted, this.#at)) return false;
    this.#at += wanted.length;
    return true;
  }

  #match(pattern: RegExp): string | null {
    this.#peek();
    const found = pattern.exec(this.#text.slice(this.#at))?.[0];
    if (found === undefined) return null;
    this.#at += found.length;
    return found;
  }

  #sum(): number {
    let value = this.#product();
    for (;;) {
      if (this.#take('+')) value += this.#product();
      else if (this.#take('-')) value -= this.#product();
      else return value;
    }
  }

  #product(): number {
    let value = this.#signed();
    for (;;) {
      if (this.#take('\\cdot') || this.#take('\\times') || this.#take('*') || this.#take('×')) value *= this.#signed();
      else if (this.#take('/') || this.#take('\\div')) value /= this.#signed();
      else if (/[a-zA-Z(\\]/.test(this.#peek()) && !/^\\[})\]]/.test(this.#text.slice(this.#at))) value *= this.#power();
      else return value;
    }
  }

  #signed(): number {
    if (this.#take('-')) return -this.#signed();
    if (this.#take('+')) return this.#signed();
    return this.#power();
  }

  #power(): number {
    const base = this.#atom();
    if (!this.#take('^') && !this.#take('**')) return base;
    return base ** (this.#peek() === '{' ? this.#group('{', '}') : this.#signed());
  }

  #atom(): number {
    const number = this.#match(/^(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?/);
    if (number !== null) return this.#mixed(Number(number));
    if (this.#peek() === '(') return this.#group('(', ')');
    if (this.#peek() === '{') return this.#group('{', '}');
    if (this.#peek() === '[') return this.#group('[', ']');
    if (this.#take('\\frac')) {
      const above = this.#argument();
      return above / this.#argument();
    }
    if (this.#take('\\pi') || this.#take('π') || this.#match(/^pi\b/) !== null) return Math.PI;
    if (this.#take('\\sqrt')) {
      const root = this.#peek() === '[' ? this.#group('[', ']') : 2;
      return this.#argument() ** (1 / root);
    }
    const name = this.#match(/^\\?(?:sqrt|sin|cos|tan|ln|log|exp)(?![a-zA-Z])/)?.replace('\\', '');
    if (name !== undefined) return FUNCTIONS[name]!(this.#peek() === '(' || this.#peek() === '{' ? this.#argument() : this.#power());
    if (this.#match(/^\\?e(?![a-zA-Z])/) !== null) return Math.E;
    const letter = this.#match(/^[a-zA-Z]/);
    // each letter its own place, moved by the point
    if (letter !== null && !/[a-zA-Z]/.test(this.#text[this.#at] ?? '')) return this.x * (1 + letter.charCodeAt(0) / 97);
    throw new Error('not understood');
  }

  /** "1 1/2" and "1\frac{1}{2}" are one and a half. */
  #mixed(whole: number): number {
    const fraction = this.#match(/^\d+\s*\/\s*\d+/);
    if (fraction !== null) {
      const [above = 0, below = 0] = fraction.split('/').map(Number);
      return whole + above / below;
    }
    const digits = /^\\frac\s*(?:\{\s*\d+\s*\}|\d)\s*(?:\{\s*\d+\s*\}|\d)/;
    if (!Number.isInteger(whole) || !digits.test(this.#text.slice(this.#at).trimStart())) return whole;
    this.#take('\\frac');
    const above = this.#argument();
    return whole + above / this.#argument();
  }

  /** {…}, or a single digit as in \frac12. */
  #argument(): number {
    if (this.#peek() === '{') return this.#group('{', '}');
    if (this.#peek() === '(') return this.#group('(', ')');
    const digit = this.#match(/^\d/);
    return digit === null ? this.#atom() : Number(digit);
  }

  #group(open: string, close_: string): number {
    if (!this.#take(open)) throw new Error('no group');
    const value = this.#sum();
    if (!this.#take(close_)) throw new Error('not closed');
    return value;
  }
}
