/** Byte-level BPE, learnt from the recipe's own rows (Sennrich et al. 2016, arXiv 1508.07909). */
import type { Row } from './row';

/** A word with the space before it, one figure, punctuation, or one white-space character. */
const PIECE = ' ?\\p{L}+| ?\\p{N}| ?[^\\s\\p{L}\\p{N}]+|\\s';

export const SPECIAL = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'] as const;

/** GPT-2's way to write the 256 bytes as printable characters. */
function byteCharacters(): string[] {
  const printable = (byte: number) =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : next++));
}

type Pair = readonly [string, string];

function mostFrequent(words: readonly { symbols: string[]; count: number }[]): Pair | null {
  const counts = new Map<string, number>();
  for (const { symbols, count } of words) {
    for (let k = 1; k < symbols.length; k++) {
      const pair = `${symbols[k - 1]} ${symbols[k]}`;
      counts.set(pair, (counts.get(pair) ?? 0) + count);
    }
  }
  let best: { pair: string; count: number } | null = null;
  // Ties go to the first in order, whatever order the words came in.
  for (const [pair, count] of counts) {
    if (!best || count > best.count || (count === best.count && pair < best.pair)) best = { pair, count };
  }
  return best ? (best.pair.split(' ') as unknown as Pair) : null;
}

function merged(symbols: readonly string[], [left, right]: Pair): string[] {
  const out: string[] = [];
  for (let k = 0; k < symbols.length; k++) {
    if (symbols[k] === left && symbols[k + 1] === right) {
      out.push(left + right);
      k++;
    } else out.push(symbols[k]!);
  }
  return out;
}

function learnMerges(texts: Iterable<string>, most: number): Pair[] {
  const bytes = byteCharacters();
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const [piece] of text.matchAll(new RegExp(PIECE, 'gu'))) {
      const word = Array.from(new TextEncoder().encode(piece), (byte) => bytes[byte]!).join('');
      counts.set(word, (counts.get(word) ?? 0) + 1);
    }
  }
  const words = [...counts].map(([word, count]) => ({ symbols: [...word], count }));
  const merges: Pair[] = [];
  while (merges.length < most) {
    const pair = mostFrequent(words);
    if (!pair) break;
    merges.push(pair);
    for (const word of words) word.symbols = merged(word.symbols, pair);
  }
  return merges;
}

/** What the tokenizer learns from: questions, answers and the template's words. */
export const tokenizerTexts = (rows: readonly Row[]): string[] =>
  rows.flatMap(({ prompt, completion }) => [prompt, completion, 'user', 'assistant']);

/** tokenizer.json as the `tokenizers` library reads it. Special tokens, then bytes, then merges. */
export function makeTokenizer(texts: Iterable<string>, vocabularySize: number): string {
  const bytes = byteCharacters();
  const merges = learnMerges(texts, vocabularySize - SPECIAL.length - bytes.length);
  const tokens = [...SPECIAL, ...bytes, ...merges.map(([left, right]) => left + right)];
  const special = (content: string, id: number) => ({
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  });
  const tokenizer = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: SPECIAL.map(special),
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: PIECE }, behavior: 'Isolated', invert: false },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges: merges.map(([left, right]) => [left, right]),
    },
  };
  return JSON.stringify(tokenizer, null, 1) + '\n';
}
