import type { Tokenizer } from './tokenizer';

/**
 * Text as ids arrive one by one, never with half a character: what DecodeStream of tokenizers 0.23 does. Only
 * the tokens since the last character boundary are decoded again.
 */
export class StreamingDetokenizer {
  #ids: number[] = [];
  #prefix = '';
  #prefixTokens = 0;

  constructor(
    private readonly tokenizer: Tokenizer,
    private readonly skipSpecial = true,
  ) {}

  /** The text that this id completes; '' while a character is unfinished. */
  async push(id: number): Promise<string> {
    this.#ids.push(id);
    const text = await this.tokenizer.decode(this.#ids, { skipSpecial: this.skipSpecial });
    if (text.length <= this.#prefix.length || text.endsWith('\uFFFD')) return '';
    const piece = text.slice(this.#prefix.length);
    this.#ids = this.#ids.slice(this.#prefixTokens);
    this.#prefixTokens = this.#ids.length;
    this.#prefix = await this.tokenizer.decode(this.#ids, { skipSpecial: this.skipSpecial });
    return piece;
  }

  /** What is left at the end: an unfinished character shows as U+FFFD. */
  async finish(): Promise<string> {
    const text = await this.tokenizer.decode(this.#ids, { skipSpecial: this.skipSpecial });
    const rest = text.slice(this.#prefix.length);
    this.#ids = [];
    this.#prefix = '';
    this.#prefixTokens = 0;
    return rest;
  }
}

/** One piece of text a token, special tokens included; their concatenation is the decoded text. */
export async function tokenPieces(tokenizer: Tokenizer, ids: ArrayLike<number>): Promise<string[]> {
  const stream = new StreamingDetokenizer(tokenizer, false);
  const pieces: string[] = [];
  for (const id of Array.from(ids)) pieces.push(await stream.push(id));
  if (pieces.length > 0) pieces[pieces.length - 1] += await stream.finish();
  return pieces;
}
