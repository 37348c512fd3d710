import { AtelierError } from '../../../shared/rpc/errors';
import { Tokenizer, type EncodedText } from './tokenizer';

/** Private-use characters that stand for special-token strings in content: the whole of plane 16. */
const firstSentinel = 0x100000;
const sentinels = /[\u{100000}-\u{10FFFD}]/gu;

/**
 * Keeps text that a user wrote from becoming control tokens: `<|im_end|>` inside a message is spelled out as
 * plain text. Each such string is replaced by one private-use character before the template is rendered; the
 * rendered text is tokenised once, with that character as a token of its own, and the ids of the plain spelling
 * take its place. Text without such strings gives exactly the tokenizer's own ids.
 */
export class ContentGuard {
  readonly #pattern: RegExp | null;
  readonly #index: ReadonlyMap<string, number>;
  #compiled: Promise<{ guarded: Tokenizer; plain: Map<number, number[]> }> | null = null;

  constructor(private readonly tokenizer: Tokenizer) {
    const strings = [...tokenizer.specialStrings]
      .filter((text) => text !== '')
      .sort((a, b) => b.length - a.length);
    this.#index = new Map(strings.map((text, index) => [text, index]));
    const escaped = strings.map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    this.#pattern = escaped.length > 0 ? new RegExp(escaped.join('|'), 'g') : null;
  }

  /** The same value with special strings in its texts replaced. */
  protect<T>(value: T): T {
    if (typeof value === 'string') return this.#protectText(value) as T;
    if (Array.isArray(value)) return value.map((entry: unknown) => this.protect(entry)) as T;
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([key, entry]: [string, unknown]) => [
      key,
      key === 'role' || key === 'type' ? entry : this.protect(entry),
    ]);
    return Object.fromEntries(entries) as T;
  }

  /** The text with the replaced strings back in it. */
  reveal(text: string): string {
    return text.replace(sentinels, (char) => this.#string(char));
  }

  /** Offsets are those of the protected text: every id of a spelled-out string has its character's. */
  async encode(protectedText: string): Promise<EncodedText> {
    if (protectedText.search(sentinels) < 0) return this.tokenizer.encodeSpans(protectedText);
    const { guarded, plain } = await (this.#compiled ??= this.#compile());
    const encoding = await guarded.encodeSpans(protectedText);
    const ids: number[] = [];
    const offsets: number[][] = [];
    encoding.ids.forEach((id, index) => {
      const spelled = plain.get(id) ?? [id];
      ids.push(...spelled);
      offsets.push(...spelled.map(() => encoding.offsets[index]!));
    });
    return { ids, offsets };
  }

  #protectText(text: string): string {
    if (text.search(sentinels) >= 0) {
      throw new AtelierError(
        'invalid_data',
        'A text holds a private-use character (U+100000 to U+10FFFD), which is kept for marking special tokens.',
        'Take the character out of the text.',
      );
    }
    if (!this.#pattern) return text;
    return text.replace(this.#pattern, (found) =>
      String.fromCodePoint(firstSentinel + this.#index.get(found)!),
    );
  }

  #string(char: string): string {
    const wanted = char.codePointAt(0)! - firstSentinel;
    for (const [text, index] of this.#index) if (index === wanted) return text;
    return char;
  }

  async #compile() {
    const file = JSON.parse(this.tokenizer.json) as { added_tokens?: object[] };
    const bare = Tokenizer.fromSource({
      tokenizerJson: JSON.stringify({ ...file, added_tokens: [] }),
      specialTokens: {},
    });
    const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
    const first = this.tokenizer.size;
    const extra = [...this.#index.values()].map((index) => ({
      id: first + index,
      content: String.fromCodePoint(firstSentinel + index),
      ...flags,
    }));
    const guarded = Tokenizer.fromSource({
      tokenizerJson: JSON.stringify({ ...file, added_tokens: [...(file.added_tokens ?? []), ...extra] }),
      specialTokens: {},
    });
    const plain = new Map<number, number[]>();
    for (const [text, index] of this.#index) {
      const id = guarded.id(String.fromCodePoint(firstSentinel + index));
      if (id === null) throw new Error('the tokenizer did not take its marker tokens');
      plain.set(id, await bare.encode(text));
    }
    return { guarded, plain };
  }
}
