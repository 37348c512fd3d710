import { Tokenizer as Native } from 'tokenizers';
import { AtelierError } from '../../../shared/rpc/errors';

/** Everything about a model's text that its files say, before it is compiled. */
export interface TextSource {
  /** tokenizer.json's text (made from the metadata for GGUF). */
  tokenizerJson: string;
  /** Special tokens by role as the template knows them: bos_token, eos_token ... */
  specialTokens: Record<string, string>;
  /** Ids of added tokens as another file than tokenizer.json has them; they must be the same. */
  addedIds?: Record<string, number>;
  /** Ids that end a generation, from generation_config and config. */
  eosIds: number[];
  template: string | null;
}

interface AddedToken {
  id: number;
  content: string;
  special: boolean;
}

/** A span of code points [start, end) for each token, as tokenizers counts. */
export interface EncodedText {
  ids: number[];
  offsets: number[][];
}

/** tokenizers@0.23 behind the few verbs that training, chat and preview need. */
export class Tokenizer {
  /** Strings that become one control token when they stand in the text. */
  readonly specialStrings: string[];
  readonly specialIds: ReadonlySet<number>;

  private constructor(
    private readonly native: Native,
    readonly json: string,
    readonly addedTokens: readonly AddedToken[],
    readonly specialTokens: Readonly<Record<string, string>>,
  ) {
    const named = new Set(Object.values(specialTokens));
    const special = addedTokens.filter((token) => token.special || named.has(token.content));
    this.specialStrings = special.map((token) => token.content);
    this.specialIds = new Set(special.map((token) => token.id));
  }

  static fromSource(source: Pick<TextSource, 'tokenizerJson' | 'specialTokens'>): Tokenizer {
    try {
      const native = Native.fromString(source.tokenizerJson);
      // Some files keep the padding and truncation of the last training run: they are not the tokenizer's.
      native.disablePadding();
      native.disableTruncation();
      const file = JSON.parse(source.tokenizerJson) as {
        added_tokens?: AddedToken[];
        model?: { dropout?: unknown };
      };
      if (typeof file.model?.dropout === 'number' && file.model.dropout > 0)
        throw new Error('its BPE drops merges at random (model.dropout), so that a text has no one spelling');
      // The library gives an added token the next free id, whatever the file says.
      const added = (file.added_tokens ?? []).map((token) => ({
        ...token,
        id: native.tokenToId(token.content) ?? token.id,
      }));
      return new Tokenizer(native, source.tokenizerJson, added, source.specialTokens);
    } catch (error) {
      throw new AtelierError(
        'invalid_file',
        `tokenizer.json cannot be read: ${error instanceof Error ? error.message : String(error)}.`,
        'Fetch the file again from where the model came from.',
      );
    }
  }

  /** `special` lets the post-processor add its BOS and EOS. */
  async encode(text: string, { special = false } = {}): Promise<number[]> {
    return (await this.native.encode(text, null, { addSpecialTokens: special })).getIds();
  }

  async encodeSpans(text: string): Promise<EncodedText> {
    const encoding = await this.native.encode(text, null, { addSpecialTokens: false });
    return { ids: encoding.getIds(), offsets: encoding.getOffsets() };
  }

  decode(ids: ArrayLike<number>, { skipSpecial = false } = {}): Promise<string> {
    return this.native.decode(Array.from(ids), skipSpecial);
  }

  /** Vocabulary with added tokens. */
  get size(): number {
    return this.native.getVocabSize(true);
  }

  /** The token with the largest id. */
  last(): { token: string; id: number } {
    let found = { token: '', id: -1 };
    for (const [token, id] of Object.entries(this.native.getVocab(true)))
      if (id > found.id) found = { token, id };
    return found;
  }

  id(token: string): number | null {
    return this.native.tokenToId(token) ?? null;
  }

  /** The token as the vocabulary writes it; null where there is none. */
  token(id: number): string | null {
    return this.native.idToToken(id) ?? null;
  }

  special(role: 'bos_token' | 'eos_token' | 'pad_token' | 'unk_token'): number | null {
    const token = this.specialTokens[role];
    return token === undefined ? null : this.id(token);
  }
}
