import { AtelierError } from '../../../shared/rpc/errors';
import { StreamingDetokenizer, tokenPieces } from './detokenizer';
import { folderSource } from './folder-source';
import { ggufSource } from './gguf-source';
import { ContentGuard } from './guard';
import { answerStart, commonPrefix, endAtTurnEnds, maskOfSpans } from './loss-mask';
import { ChatTemplate, type ChatMessage, type RenderOptions } from './template/chat-template';
import { takeSpans, type Span } from './template/generation-tags';
import type { Renderer } from './template/renderer';
import { Tokenizer, type EncodedText, type TextSource } from './tokenizer';

export interface EncodedPrompt {
  /** As a person reads it. */
  text: string;
  ids: Int32Array;
}

export interface EncodedChat extends EncodedPrompt {
  /** 1 on tokens inside {% generation %}; null where the template has no such marks. */
  assistantMask: Uint8Array | null;
}

export interface EncodedExample extends EncodedPrompt {
  /** 1 on the tokens that are trained on. */
  lossMask: Uint8Array;
}

/** What a data row asks the model to learn. */
export type TextExample =
  | { kind: 'messages'; messages: readonly ChatMessage[] }
  /** The answer alone is trained on. */
  | { kind: 'answer'; prompt: readonly ChatMessage[]; answer: readonly ChatMessage[] }
  /** Text as it is, control tokens in it included; all of it is trained on. */
  | { kind: 'text'; text: string };

export interface ChatOptions extends RenderOptions {
  /** transformers' way: special-token strings in content become control tokens. For conformance only. */
  compat?: boolean;
}

/**
 * A model's text, one way for training, chat and preview: messages to tokens, tokens to text, loss masks.
 * `form` is `chat` with a template; `plain` without: contents one a line, then
 * the answer where they end, then EOS.
 */
export class ModelText {
  readonly tokenizer: Tokenizer;
  readonly template: ChatTemplate | null;
  readonly #guard: ContentGuard;
  readonly #bos: number | null;

  private constructor(
    source: TextSource,
    tokenizer: Tokenizer,
    template: ChatTemplate | null,
    /** Ids that end a turn: the model's EOS ids and the token the template closes an answer with. */
    readonly stopIds: Int32Array,
    addsBos: boolean,
  ) {
    this.tokenizer = tokenizer;
    this.template = template;
    this.#guard = new ContentGuard(tokenizer);
    this.#bos = addsBos ? tokenizer.special('bos_token') : null;
  }

  static async fromFolder(dir: string, renderer?: Renderer): Promise<ModelText> {
    return ModelText.fromSource(await folderSource(dir), renderer);
  }

  /** From the metadata of a GGUF file, as `readGguf` gives it. */
  static async fromGguf(metadata: Record<string, unknown>, renderer?: Renderer): Promise<ModelText> {
    return ModelText.fromSource(ggufSource(metadata), renderer);
  }

  /** Throws where the tokenizer cannot be read, or the template does not render a user's question. */
  static async fromSource(source: TextSource, renderer?: Renderer): Promise<ModelText> {
    const tokenizer = Tokenizer.fromSource(source);
    requireTokens(tokenizer, source);
    const template =
      source.template === null ? null : new ChatTemplate(source.template, source.specialTokens, renderer);
    if (template) await withAdvice(template.render(question, { addGenerationPrompt: true }));
    const eos = tokenizer.special('eos_token');
    const closing = template ? await closingToken(tokenizer, template) : null;
    const stops = [...source.eosIds, eos, closing].filter((id): id is number => id !== null);
    const bos = tokenizer.special('bos_token');
    const addsBos = bos !== null && (await tokenizer.encode('a', { special: true }))[0] === bos;
    const text = new ModelText(source, tokenizer, template, Int32Array.from(new Set(stops)), addsBos);
    if (template) await withAdvice(text.prompt(question));
    return text;
  }

  /** Refuses a tokenizer whose ids reach beyond a model's embedding of so many rows. */
  requireFit(rows: number): void {
    const { token, id } = this.tokenizer.last();
    const hint = 'Take tokenizer, generation_config.json and weights from the same model.';
    if (id >= rows) {
      throw new AtelierError(
        'invalid_file',
        `The tokenizer gives ${JSON.stringify(token)} the id ${id}, but the model has ${rows} tokens (0 to ${rows - 1}).`,
        hint,
      );
    }
    if (this.stopIds.length === 0) {
      throw new AtelierError(
        'invalid_file',
        'No token ends an answer: neither eos_token in tokenizer_config.json nor eos_token_id in generation_config.json or config.json is set.',
        'Name it in one of them.',
      );
    }
    const stop = this.stopIds.find((stopId) => stopId >= rows);
    if (stop === undefined) return;
    throw new AtelierError(
      'invalid_file',
      `eos_token_id ${stop} is none of the model's ${rows} tokens (0 to ${rows - 1}).`,
      hint,
    );
  }

  get form(): 'chat' | 'plain' {
    return this.template ? 'chat' : 'plain';
  }

  /** A prompt to generate from. */
  async prompt(messages: readonly ChatMessage[], options: ChatOptions = {}): Promise<EncodedPrompt> {
    if (!this.template) return this.#plainPrompt(plainText(messages));
    const { text, ids } = await this.chat(messages, {
      addGenerationPrompt: !options.continueFinal,
      ...options,
    });
    return { text, ids };
  }

  /** The conversation through the chat template. */
  async chat(messages: readonly ChatMessage[], options: ChatOptions = {}): Promise<EncodedChat> {
    const { text, encoded, spans } = await this.#rendered(messages, options);
    return {
      text: this.#guard.reveal(text),
      ids: Int32Array.from(encoded.ids),
      assistantMask: this.template?.marksGeneration ? maskOfSpans(text, encoded, spans) : null,
    };
  }

  /** The tokens of a conversation that ends with an answer: what a reward model reads, and learns from as an example. */
  async conversation(messages: readonly ChatMessage[]): Promise<Int32Array> {
    if (this.template) return (await this.chat(messages)).ids;
    return (await this.#plainPair(plainText(messages.slice(0, -1)), plainText(messages.slice(-1)))).ids;
  }

  /** A row to train on, with the mask of what is trained. Throws where nothing would be. */
  async example(example: TextExample, options: ChatOptions = {}): Promise<EncodedExample> {
    const made = await this.#example(example, options);
    if (!made.lossMask.includes(1)) {
      throw new AtelierError('invalid_data', 'The row has nothing to train on: no answer in it.');
    }
    return made;
  }

  /** Text of generated tokens, control tokens left out. */
  decode(ids: ArrayLike<number>): Promise<string> {
    return this.tokenizer.decode(ids, { skipSpecial: true });
  }

  /** Control tokens left out. */
  detokenizer(): StreamingDetokenizer {
    return new StreamingDetokenizer(this.tokenizer);
  }

  /** One piece of text a token; a character of several tokens stands at its last. */
  pieces(ids: ArrayLike<number>): Promise<string[]> {
    return tokenPieces(this.tokenizer, ids);
  }

  #example(example: TextExample, options: ChatOptions): Promise<EncodedExample> {
    if (example.kind === 'text') return this.#plainText(example.text);
    if (example.kind === 'messages') return this.#conversation(example.messages, options);
    return this.#answer(example, options);
  }

  async #answer(
    { prompt, answer }: { prompt: readonly ChatMessage[]; answer: readonly ChatMessage[] },
    options: ChatOptions,
  ): Promise<EncodedExample> {
    if (!this.template) return this.#plainPair(plainText(prompt), plainText(answer));
    const whole = await this.#conversation([...prompt, ...answer], options);
    if (!prompt.some(({ role }) => role === 'assistant')) return whole;
    const before = await this.prompt(prompt, options);
    whole.lossMask.fill(0, 0, commonPrefix(before.ids, whole.ids));
    return whole;
  }

  async #conversation(messages: readonly ChatMessage[], options: ChatOptions): Promise<EncodedExample> {
    if (!this.template) {
      const last = messages.at(-1);
      if (last?.role !== 'assistant') {
        throw new AtelierError('invalid_data', 'The row does not end with an assistant message.');
      }
      return this.#plainPair(plainText(messages.slice(0, -1)), plainText([last]));
    }
    const whole = await this.#rendered(messages, options);
    const { ids } = whole.encoded;
    const mask = this.template.marksGeneration
      ? maskOfSpans(whole.text, whole.encoded, whole.spans)
      : await this.#answers(messages, { text: whole.text, ids }, options);
    return {
      text: this.#guard.reveal(whole.text),
      ids: Int32Array.from(ids),
      lossMask: endAtTurnEnds(mask, ids, new Set(this.stopIds)),
    };
  }

  /** Every assistant turn: from after its own prompt to its end token. */
  async #answers(
    messages: readonly ChatMessage[],
    whole: { text: string; ids: readonly number[] },
    options: ChatOptions,
  ): Promise<Uint8Array> {
    const mask = new Uint8Array(whole.ids.length);
    for (const [index, message] of messages.entries()) {
      if (message.role !== 'assistant') continue;
      if (index === 0) {
        throw new AtelierError(
          'invalid_data',
          'The row starts with an assistant message: it answers nothing.',
        );
      }
      const before = await this.#rendered(messages.slice(0, index), {
        ...options,
        addGenerationPrompt: true,
      });
      const start = answerStart(whole, { text: before.text, ids: before.encoded.ids });
      const closing = whole.ids.findIndex((id, at) => at >= start && this.stopIds.includes(id));
      const end =
        closing >= 0 ? closing + 1 : await this.#endWithoutToken(messages, index, whole.ids, options);
      mask.fill(1, start, end);
    }
    return mask;
  }

  /** A template that closes an answer with no token: it ends where the conversation up to it ends. */
  async #endWithoutToken(
    messages: readonly ChatMessage[],
    index: number,
    ids: readonly number[],
    options: ChatOptions,
  ): Promise<number> {
    if (index === messages.length - 1) return ids.length;
    const upTo = await this.#rendered(messages.slice(0, index + 1), options);
    return commonPrefix(upTo.encoded.ids, ids);
  }

  async #rendered(
    messages: readonly ChatMessage[],
    options: ChatOptions,
  ): Promise<{ text: string; encoded: EncodedText; spans: Span[] }> {
    if (!this.template) {
      throw new AtelierError(
        'unsupported',
        'The model has no chat template.',
        'Use the plain form: prompt and completion.',
      );
    }
    if (options.compat) {
      const { text, spans } = await this.template.render(messages, options);
      return { text, spans, encoded: await this.tokenizer.encodeSpans(text) };
    }
    const safe = { ...options, ...(options.tools ? { tools: this.#guard.protect(options.tools) } : {}) };
    const guarded = this.#guard.protect(messages);
    const { text, spans } = await this.template.render(guarded, safe);
    requireWritten(guarded, text);
    const encoded = await this.#guard.encode(text);
    const bos = this.tokenizer.special('bos_token');
    if (bos !== null && encoded.ids[0] === bos && encoded.ids[1] === bos) {
      throw new AtelierError('template_failed', 'The chat template writes the BOS token twice.');
    }
    return { text, spans, encoded };
  }

  async #plainPrompt(text: string): Promise<EncodedPrompt> {
    const { ids } = await this.#guard.encode(this.#guard.protect(text));
    return { text, ids: Int32Array.from(this.#withBos(ids)) };
  }

  async #plainPair(prompt: string, completion: string): Promise<EncodedExample> {
    const before = await this.#guard.encode(this.#guard.protect(prompt));
    const { ids: joined } = await this.#guard.encode(
      this.#guard.protect(prompt) + this.#guard.protect(completion),
    );
    const start = this.#withBos(before.ids.slice(0, commonPrefix(before.ids, joined))).length;
    const ids = Int32Array.from([...this.#withBos(joined), ...this.#eos()]);
    return { text: prompt + completion, ids, lossMask: new Uint8Array(ids.length).fill(1, start) };
  }

  async #plainText(text: string): Promise<EncodedExample> {
    const ids = Int32Array.from([...this.#withBos(await this.tokenizer.encode(text)), ...this.#eos()]);
    // The first token has no token before it to be predicted from.
    return { text, ids, lossMask: new Uint8Array(ids.length).fill(1, 1) };
  }

  #withBos(ids: number[]): number[] {
    return this.#bos === null || ids[0] === this.#bos ? ids : [this.#bos, ...ids];
  }

  #eos(): number[] {
    const eos = this.tokenizer.special('eos_token') ?? this.stopIds[0];
    return eos === undefined ? [] : [eos];
  }
}

/**
 * A template that does not know a role leaves its message out. Those of the system and of the assistant may be written
 * otherwise than they are: flags and thoughts are taken out.
 */
function requireWritten(messages: readonly ChatMessage[], rendered: string): void {
  for (const [index, { role, content }] of messages.entries()) {
    if (role === 'system' || role === 'assistant' || typeof content !== 'string') continue;
    const said = content.trim();
    // some write what a tool says as JSON
    if (rendered.includes(said) || rendered.includes(JSON.stringify(said).slice(1, -1))) continue;
    throw new AtelierError(
      'template_failed',
      `The chat template cannot be used here: it does not write what the ${role} says (message ${index + 1}).`,
    );
  }
}

/** Tokens that tokenizer.json lacks are made by transformers, beyond the rows of the embedding. */
function requireTokens(tokenizer: Tokenizer, { specialTokens, addedIds = {} }: TextSource): void {
  const refuse = (what: string) =>
    new AtelierError(
      'invalid_file',
      `tokenizer_config.json ${what}.`,
      'Save it again with transformers: AutoTokenizer.from_pretrained(folder).save_pretrained(folder).',
    );
  for (const role of ['bos_token', 'eos_token']) {
    const token = specialTokens[role];
    if (token !== undefined && tokenizer.id(token) === null)
      throw refuse(`names the ${role} ${JSON.stringify(token)}, which tokenizer.json does not have`);
  }
  for (const [token, id] of Object.entries(addedIds)) {
    const found = tokenizer.id(token);
    if (found !== id)
      throw refuse(
        `gives ${JSON.stringify(token)} the id ${id}, and tokenizer.json ${found === null ? 'none' : found}`,
      );
  }
}

/** What every template must render: a run's prompts are no other. */
const question: ChatMessage[] = [{ role: 'user', content: 'Hello?' }];

async function withAdvice(rendered: Promise<unknown>): Promise<void> {
  try {
    await rendered;
  } catch (error) {
    if (!(error instanceof AtelierError)) throw error;
    const advice =
      'It stands in chat_template.jinja, or as chat_template in tokenizer_config.json or in the GGUF file. Mend it, ' +
      'or take it out: without one, messages are joined as plain text, without their roles.';
    throw new AtelierError(error.code, error.message, advice, error.details);
  }
}

/** Contents one a line, the last one open: the answer goes on where they end. */
function plainText(messages: readonly ChatMessage[]): string {
  return messages
    .map(({ content }) =>
      Array.isArray(content)
        ? content.map((part: { text?: string }) => part.text ?? '').join('')
        : String(content ?? ''),
    )
    .join('\n');
}

/** The control token that a template puts after an answer; null where it puts none or refuses the question. */
async function closingToken(tokenizer: Tokenizer, template: ChatTemplate): Promise<number | null> {
  const answer = 'Yes, of course.';
  const messages = [
    { role: 'user', content: 'Hello?' },
    { role: 'assistant', content: answer },
  ];
  const rendered = await template.render(messages).catch(() => null);
  if (!rendered) return null;
  const { text } = takeSpans(rendered.text);
  const after = text.slice(text.lastIndexOf(answer) + answer.length);
  const ids = await tokenizer.encode(after);
  return ids.find((id) => tokenizer.specialIds.has(id)) ?? null;
}
