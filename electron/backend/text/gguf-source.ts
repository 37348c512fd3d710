import { AtelierError } from '../../../shared/rpc/errors';
import { preTokenizers } from './gguf-pretokenizers';
import type { TextSource } from './tokenizer';

type Metadata = Record<string, unknown>;

/** llama.cpp's token types that are matched in the text before anything else. */
const control = 3;
const userDefined = 4;

function strings(metadata: Metadata, key: string): string[] {
  const value = metadata[key];
  if (Array.isArray(value) && value.every((entry) => typeof entry === 'string')) return value;
  throw new AtelierError('invalid_file', `The GGUF file's ${key} is not a list of strings.`);
}

function bpeModel(tokens: string[], merges: string[], ignoreMerges: boolean) {
  return {
    type: 'BPE',
    dropout: null,
    unk_token: null,
    continuing_subword_prefix: null,
    end_of_word_suffix: null,
    fuse_unk: false,
    byte_fallback: false,
    ignore_merges: ignoreMerges,
    vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
    merges,
  };
}

function postProcessor(tokens: string[], bos: number | null, eos: number | null) {
  const byteLevel = { type: 'ByteLevel', add_prefix_space: true, trim_offsets: false, use_regex: true };
  const added = [bos, eos].filter((id): id is number => id !== null);
  if (added.length === 0) return byteLevel;
  const special = (id: number) => ({ SpecialToken: { id: tokens[id], type_id: 0 } });
  const sequence = (id: 'A' | 'B', type: number) => ({ Sequence: { id, type_id: type } });
  const single = [
    ...(bos === null ? [] : [special(bos)]),
    sequence('A', 0),
    ...(eos === null ? [] : [special(eos)]),
  ];
  const template = {
    type: 'TemplateProcessing',
    single,
    pair: [...single, sequence('B', 1)],
    special_tokens: Object.fromEntries(
      added.map((id) => [tokens[id], { id: tokens[id], ids: [id], tokens: [tokens[id]] }]),
    ),
  };
  return { type: 'Sequence', processors: [byteLevel, template] };
}

/** A tokenizer.json, special tokens and template from a GGUF file's metadata (byte-level BPE). */
export function ggufSource(metadata: Metadata): TextSource {
  const kind = metadata['tokenizer.ggml.model'];
  if (kind !== 'gpt2') {
    throw new AtelierError(
      'unsupported',
      `This GGUF file's tokenizer is of the kind "${String(kind)}"; only byte-level BPE ("gpt2") is read.`,
      "Use the model's safetensors folder, which has its tokenizer.json.",
    );
  }
  const name = String(metadata['tokenizer.ggml.pre'] ?? 'none');
  const pre = Object.hasOwn(preTokenizers, name) ? preTokenizers[name] : undefined;
  if (!pre) {
    throw new AtelierError(
      'unsupported',
      `This GGUF file splits text by the rule "${name}" (tokenizer.ggml.pre), which is not known here.`,
      `Known: ${Object.keys(preTokenizers).join(', ')}. Use the model's safetensors folder instead.`,
    );
  }
  const tokens = strings(metadata, 'tokenizer.ggml.tokens');
  const types = metadata['tokenizer.ggml.token_type'];
  const type = (id: number): unknown => (Array.isArray(types) ? types[id] : undefined);
  const id = (role: string): number | null => {
    const key = `tokenizer.ggml.${role}_token_id`;
    const value = metadata[key];
    if (value === undefined) return null;
    if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < tokens.length)
      return value;
    throw new AtelierError(
      'invalid_file',
      `The GGUF file's ${key} is ${String(value)}; its list has ${tokens.length} tokens.`,
    );
  };
  const [bos, eos, pad, unk] = [id('bos'), id('eos'), id('padding'), id('unknown')];
  // llama.cpp adds the BOS of llama-bpe unless told otherwise.
  const addBos = metadata['tokenizer.ggml.add_bos_token'] ?? pre.ignoreMerges;
  const addEos = metadata['tokenizer.ggml.add_eos_token'] ?? false;
  const specialTokens: Record<string, string> = {};
  for (const [role, value] of Object.entries({ bos, eos, pad, unk })) {
    if (value !== null) specialTokens[`${role}_token`] = tokens[value]!;
  }
  const added = tokens.flatMap((content, index) => {
    const special = type(index) === control;
    if (!special && type(index) !== userDefined) return [];
    const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false };
    return [{ id: index, content, ...flags, special }];
  });
  const template = metadata['tokenizer.chat_template'];
  return {
    tokenizerJson: JSON.stringify({
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: added,
      normalizer: pre.normalizer,
      pre_tokenizer: pre.preTokenizer,
      post_processor: postProcessor(tokens, addBos === true ? bos : null, addEos === true ? eos : null),
      decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
      model: bpeModel(tokens, strings(metadata, 'tokenizer.ggml.merges'), pre.ignoreMerges),
    }),
    specialTokens,
    eosIds: [eos, id('eot'), id('eom')].filter((value) => value !== null),
    template: typeof template === 'string' ? template : null,
  };
}
