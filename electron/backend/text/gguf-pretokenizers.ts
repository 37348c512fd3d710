// tokenizer.ggml.pre -> the pre-tokenizer of tokenizer.json. The names are llama.cpp's; each entry is what the
// model's own tokenizer.json has. A name that is not here is refused: a guess would give wrong ids silently.

interface PreTokenizer {
  normalizer: object | null;
  preTokenizer: object;
  ignoreMerges: boolean;
}

const byteLevel = (useRegex: boolean) => ({
  type: 'ByteLevel',
  add_prefix_space: false,
  trim_offsets: false,
  use_regex: useRegex,
});

const split = (pattern: string) => ({
  type: 'Sequence',
  pretokenizers: [
    { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false },
    byteLevel(false),
  ],
});

const words = (digits: string) =>
  `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;

const gpt2: PreTokenizer = { normalizer: null, preTokenizer: byteLevel(true), ignoreMerges: false };
const smollm: PreTokenizer = {
  normalizer: null,
  preTokenizer: {
    type: 'Sequence',
    pretokenizers: [{ type: 'Digits', individual_digits: true }, byteLevel(true)],
  },
  ignoreMerges: false,
};
const llama3: PreTokenizer = {
  normalizer: null,
  preTokenizer: split(words('\\p{N}{1,3}')),
  ignoreMerges: true,
};
const qwen2: PreTokenizer = {
  normalizer: { type: 'NFC' },
  preTokenizer: split(words('\\p{N}')),
  ignoreMerges: false,
};

export const preTokenizers: Readonly<Record<string, PreTokenizer>> = {
  'gpt-2': gpt2,
  smollm,
  'llama-bpe': llama3,
  llama3,
  'llama-v3': llama3,
  qwen2,
  'deepseek-r1-qwen': qwen2,
};
