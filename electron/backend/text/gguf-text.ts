import type { GgufText } from '../../../native/face';
import { AtelierError } from '../../../shared/rpc/errors';
import { preTokenizers } from './gguf-pretokenizers';
import type { TextSource } from './tokenizer';

/** llama.cpp's token types (llama_token_type). */
const TYPES = { normal: 1, control: 3, userDefined: 4, unused: 5 };

interface TokenizerJson {
  model: { type?: string; vocab: Record<string, number>; merges: (string | [string, string])[] };
  added_tokens?: { id: number; content: string; special: boolean }[];
  normalizer: unknown;
  pre_tokenizer: unknown;
  post_processor: unknown;
}

/** Both sides without what changes no id. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (key, part: unknown) => {
    if (key === 'trim_offsets') return undefined;
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });

/** llama.cpp's name of the rule by which the tokenizer splits text. */
function preTokenizerName({ normalizer, pre_tokenizer }: TokenizerJson): string {
  const found = Object.entries(preTokenizers).find(
    ([, known]) =>
      canonical(known.preTokenizer) === canonical(pre_tokenizer) &&
      canonical(known.normalizer) === canonical(normalizer ?? null),
  );
  if (found) return found[0];
  throw new AtelierError(
    'unsupported',
    'This tokenizer splits text by a rule that has no name in GGUF here.',
    `Known: ${Object.keys(preTokenizers).join(', ')}. Export it merged, as safetensors.`,
  );
}

/** Whether the post-processor puts a special token before the text, or after it. */
function addsToken(processor: unknown, where: 'before' | 'after'): boolean {
  if (typeof processor !== 'object' || processor === null) return false;
  const { type, processors, single } = processor as {
    type?: string;
    processors?: unknown[];
    single?: object[];
  };
  if (type === 'Sequence') return (processors ?? []).some((each) => addsToken(each, where));
  const end = where === 'before' ? single?.[0] : single?.at(-1);
  return type === 'TemplateProcessing' && end !== undefined && 'SpecialToken' in end;
}

/** The tokenizer's metadata of a GGUF file, as llama.cpp's converter writes it (byte-level BPE). */
export function ggufText(source: TextSource, vocabularySize: number): GgufText {
  const json = JSON.parse(source.tokenizerJson) as TokenizerJson;
  if (json.model?.type !== 'BPE') {
    throw new AtelierError(
      'unsupported',
      `A tokenizer of the kind "${String(json.model?.type)}" cannot be written as GGUF; byte-level BPE can.`,
      'Export it merged, as safetensors.',
    );
  }
  const pre = preTokenizerName(json);
  const tokens = Array.from({ length: vocabularySize }, (_, id) => `[PAD${id}]`);
  const types = new Int32Array(vocabularySize).fill(TYPES.unused);
  const ids = new Map<string, number>();
  const put = (content: string, id: number, type: number) => {
    if (id >= vocabularySize) {
      throw new AtelierError(
        'invalid_file',
        `The tokenizer has a token ${id}; the embedding has ${vocabularySize} rows.`,
      );
    }
    tokens[id] = content;
    types[id] = type;
    ids.set(content, id);
  };
  for (const [token, id] of Object.entries(json.model.vocab)) put(token, id, TYPES.normal);
  for (const { id, content, special } of json.added_tokens ?? [])
    put(content, id, special ? TYPES.control : TYPES.userDefined);
  const text: GgufText = {
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.pre': pre,
    'tokenizer.ggml.tokens': tokens,
    'tokenizer.ggml.token_type': types,
    'tokenizer.ggml.merges': json.model.merges.map((merge) =>
      typeof merge === 'string' ? merge : merge.join(' '),
    ),
    'tokenizer.ggml.add_bos_token': addsToken(json.post_processor, 'before'),
    'tokenizer.ggml.add_eos_token': addsToken(json.post_processor, 'after'),
  };
  const named = (role: string) => ids.get(source.specialTokens[`${role}_token`] ?? '');
  const eos = named('eos') ?? source.eosIds[0];
  const roles: Record<string, number | undefined> = {
    bos: named('bos'),
    eos,
    padding: named('pad'),
    unknown: named('unk'),
    // another token that ends an answer
    eot: source.eosIds.find((id) => id !== eos),
  };
  for (const [role, id] of Object.entries(roles)) {
    if (id !== undefined) text[`tokenizer.ggml.${role}_token_id`] = id;
  }
  if (source.template !== null) text['tokenizer.chat_template'] = source.template;
  return text;
}
